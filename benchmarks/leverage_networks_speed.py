"""Time of a network's leverages, as ratios within one run, on MNIST.

    python benchmarks/leverage_networks_speed.py --data FOLDER [--rows 4000]
        [sketch] [wide] [products] [block] [preconditioner] [memory]

FOLDER holds mnist10k.npz. All layers of a small convolutional network count, 20,522
parameters, trained and scored on the same digits.

- sketch: all records by the sketch, timed whole, against conjugate gradients for each
  (timed on 8 records and scaled), and its rank correlation with a dense Cholesky
  factorisation. That takes 10 GiB and some minutes; --exact says for how many records.
- wide: the same for a fully connected network of 101,770 parameters, without the dense
  solution.
- products: products with the curvature from what was kept of each layer, against vmap
  over jvp and vjp of torch.func, on the same vectors.
- block: conjugate gradients for 8 records at once, against one record and one class at
  a time (timed on some of them and scaled).
- preconditioner: iterations with it and without, at the same residual.
- memory: what the process has needed at most after a fit by the sketch, and after more
  and more new digits were scored.
"""

import argparse
import json
import time

import numpy as np
import torch
from digits import (
    convolutional,
    fully_connected,
    in_process,
    load_digits,
    peak_memory,
    trained,
)
from scipy.stats import spearmanr
from sklearn.frozen import FrozenEstimator
from sklearn.utils import gen_batches
from torch.func import functional_call, jvp, vjp, vmap

from skpriv import GLSScorer
from skpriv.leverage.network._blocks import rows
from skpriv.leverage.network._cg import conjugate_gradients, nystrom
from skpriv.leverage.network._curvature import CodedRecords, GaussNewton
from skpriv.leverage.network._jacobians import Jacobians
from skpriv.leverage.network._layers import select_parameters
from skpriv.leverage.network._skorch import SkorchReader
from skpriv.leverage.network._solvers import (
    ConjugateGradientsSolver,
    DampedSystems,
    RecordBatch,
    precondition,
)

DAMPING = 5e-4
TOL = 1e-4
RANK = 256
RECORDS = 8


def timed(call, *args, **options):
    start = time.perf_counter()
    result = call(*args, **options)
    return result, time.perf_counter() - start


class Problem:
    """A trained network, its curvature and the right-hand sides of some records."""

    def __init__(self, options, module=convolutional):
        self.X, self.y = load_digits(options.data, options.rows)
        self.net = trained(self.X, self.y, module=module)
        self.network = SkorchReader(self.net).network(len(self.X))
        inner = self.network.module
        names = select_parameters(inner, "all", self.network.trainable)
        example = self.network.inputs(self.X[:3])
        self.jacobians = Jacobians(inner, names, self.network.loss.logits, example)
        codes = self.network.tensor(self.y)
        weights = self.network.loss.weights(codes)
        records = CodedRecords(self.X, codes, weights)
        self.curvature = GaussNewton(
            self.network, self.jacobians, records, batch_size=250
        )
        self.size = self.jacobians.size
        self.damping = torch.full((self.size,), DAMPING * len(self.X)).double()
        # The curvature's factors are kept from here on.
        self.kept_seconds = timed(self.curvature, torch.zeros(self.size, 1).double())[1]

    def damped(self, V):
        return self.curvature(V) + self.damping[:, None] * V

    def blocks(self, records):
        return self.jacobians.blocks(self.network.inputs(self.X[records]))

    def right_hand_sides(self, records):
        logits, blocks = self.blocks(records)
        basis = self.network.loss.basis(logits.shape[1])
        return (basis.T @ rows(blocks)).reshape(-1, self.size).T

    def preconditioner(self):
        generator = torch.Generator().manual_seed(0)
        found = nystrom(self.curvature, self.size, RANK, generator)
        return lambda V: found.solve(V, float(self.damping[0]))

    def some_records(self, n_records):
        return np.random.default_rng(0).permutation(len(self.X))[:n_records]


def sketched(problem):
    scorer = GLSScorer(
        FrozenEstimator(problem.net),
        layers="all",
        solver="sketch",
        n_sketches=128,
        tol=TOL,
        random_state=0,
    )
    return scorer.fit(problem.X, problem.y).scores_


def one_by_one(problem):
    """Seconds of conjugate gradients for all records: once, and for each record."""
    loss = problem.network.loss
    n_columns = RECORDS * loss.basis(10).shape[1]
    made, once = timed(
        precondition,
        problem.curvature,
        problem.damping,
        n_columns,
        np.random.default_rng(0),
    )
    systems = DampedSystems(problem.curvature, problem.damping, made, TOL, 1000)
    solver = ConjugateGradientsSolver(problem.curvature, systems, None)
    records = problem.some_records(RECORDS)
    logits, blocks = problem.blocks(records)
    basis = loss.basis(logits.shape[1]).to(logits)
    batch = RecordBatch(blocks, basis, None, None)
    found, each = timed(solver.evaluate, batch)
    on_prediction, _ = loss.traces(logits, found.K)
    return once, each / RECORDS, records, on_prediction


def exact(problem, records):
    """Leverages by a dense Cholesky factorisation, and its seconds."""
    start = time.perf_counter()
    H = torch.diag(problem.damping)
    for _, blocks in problem.curvature.chunks():
        A = rows(blocks).flatten(0, 1)
        # The lower triangle is all that a Cholesky factorisation reads.
        for part in gen_batches(problem.size, 2048):
            H[part.start :, part] += A[:, part.start :].T @ A[:, part]
    factor = torch.linalg.cholesky(H, out=H)
    leverages = []
    for batch in gen_batches(len(records), 200):
        logits, blocks = problem.blocks(records[batch])
        roots = problem.network.loss.hessian_root(logits)
        A = rows([(own, block.weigh(roots)) for own, block in blocks])
        half = torch.linalg.solve_triangular(
            factor, A.flatten(0, 1).T.contiguous(), upper=False
        )
        leverages.append(half.square().sum(dim=0).reshape(len(logits), -1).sum(dim=1))
    return torch.cat(leverages), time.perf_counter() - start


def compare_sketch(problem):
    scores, seconds = timed(sketched, problem)
    once, each, records, some = one_by_one(problem)
    all_records = once + each * len(problem.X)
    return scores, {
        "parameters": problem.size,
        "sketch_seconds": seconds,
        "cg_seconds_scaled": all_records,
        "time_ratio": all_records / seconds,
        "relative_difference_8": np.abs(scores[records] / some - 1).tolist(),
    }


def sketch(options):
    problem = Problem(options)
    scores, result = compare_sketch(problem)
    if options.exact:
        records = problem.some_records(options.exact)
        leverages, seconds = exact(problem, records)
        leverages = leverages.numpy()
        result |= {
            "rank_correlation": spearmanr(scores[records], leverages)[0],
            "median_relative_difference": float(
                np.median(np.abs(scores[records] / leverages - 1))
            ),
            "records": len(records),
            "dense_seconds": seconds,
        }
    return result


def wide(options):
    return compare_sketch(Problem(options, module=fully_connected))[1]


def by_torch_func(problem, V, rows_at_once=100):
    """H V as anyone would write it with torch.func, many vectors at a time."""
    module, network = problem.network.module, problem.network
    parameters = {name: value.detach() for name, value in module.named_parameters()}
    tangents = vmap(problem.jacobians.unflatten, in_dims=1)(V)
    flatten = vmap(problem.jacobians.flatten, out_dims=1)
    out = torch.zeros_like(V)
    for batch in gen_batches(len(problem.X), rows_at_once):
        inputs = network.inputs(problem.X[batch])

        def logits(parameters, inputs=inputs):
            return functional_call(module, parameters, (inputs,))

        value, pull = vjp(logits, parameters)
        proba = value.softmax(dim=1)

        def product(tangent, logits=logits, proba=proba, pull=pull):
            moved = jvp(logits, (parameters,), (tangent,))[1]
            curved = proba * (moved - (proba * moved).sum(dim=1, keepdim=True))
            return pull(curved)[0]

        out += flatten(vmap(product)(tangents))
    return out


def products(options, n_vectors=32, repeats=3):
    problem = Problem(options)
    V = torch.randn(problem.size, n_vectors, dtype=torch.float64)
    ours = [timed(problem.curvature, V) for _ in range(repeats)]
    theirs = [timed(by_torch_func, problem, V) for _ in range(repeats)]
    inputs = problem.network.inputs(problem.X)
    with torch.no_grad():
        forward = [timed(problem.network.module, inputs) for _ in range(repeats)]
    seconds, func, once = (min(s for _, s in runs) for runs in (ours, theirs, forward))
    difference = (ours[0][0] - theirs[0][0]).norm() / theirs[0][0].norm()
    return {
        "vectors": n_vectors,
        "seconds": {
            "skpriv": seconds,
            "torch.func": func,
            "to_keep": problem.kept_seconds,
        },
        "forward_passes_a_vector": {
            "skpriv": seconds / n_vectors / once,
            "torch.func": func / n_vectors / once,
        },
        "time_ratio": func / seconds,
        "relative_difference": float(difference),
    }


def block(options, n_alone=6):
    problem = Problem(options)
    B = problem.right_hand_sides(problem.some_records(RECORDS))
    solve = {"precondition": problem.preconditioner(), "tol": TOL}
    together, seconds = timed(conjugate_gradients, problem.damped, B, **solve)
    chosen = np.random.default_rng(1).permutation(B.shape[1])[:n_alone]
    alone = [
        timed(conjugate_gradients, problem.damped, B[:, [j]], **solve) for j in chosen
    ]
    scaled = np.mean([s for _, s in alone]) * B.shape[1]
    X = torch.cat([solution.X for solution, _ in alone], dim=1)
    difference = (together.X[:, chosen] - X).norm(dim=0) / X.norm(dim=0)
    return {
        "columns": B.shape[1],
        "seconds": {"block": seconds, "one_at_a_time_scaled": scaled},
        "time_ratio": scaled / seconds,
        "largest_relative_difference": float(difference.max()),
    }


def preconditioner(options):
    problem = Problem(options)
    B = problem.right_hand_sides(problem.some_records(RECORDS))
    plain, plain_seconds = timed(conjugate_gradients, problem.damped, B, tol=TOL)
    inverse, making = timed(problem.preconditioner)
    helped, seconds = timed(
        conjugate_gradients, problem.damped, B, tol=TOL, precondition=inverse
    )
    iterations = {
        name: {
            "mean": float(solution.n_iter.double().mean()),
            "most": int(solution.n_iter.max()),
            "residual": float(solution.residuals.max()),
        }
        for name, solution in (("without", plain), ("with", helped))
    }
    return {
        "iterations": iterations,
        "iterations_ratio": iterations["without"]["mean"] / iterations["with"]["mean"],
        "seconds": {"without": plain_seconds, "with": seconds, "to_make": making},
    }


def memory(options):
    n_rows = [options.rows, 4 * options.rows, 16 * options.rows]
    peaks = in_process(fit_sketch, score_more, options.data, options.rows, n_rows)[0]
    fitted, *scored = peaks
    return {
        "MiB_after_fit": fitted,
        "MiB_after_rows": dict(zip(n_rows, scored, strict=True)),
    }


def fit_sketch(folder, n_records, n_rows):
    X, y = load_digits(folder, n_records)
    scorer = GLSScorer(
        FrozenEstimator(trained(X, y, epochs=2)),
        layers="all",
        solver="sketch",
        n_sketches=32,
        tol=1e-3,
        random_state=0,
    )
    return scorer.fit(X, y), X, y, n_rows


def score_more(scorer, X, y, n_rows):
    """MiB that the process has needed at most, after numbers of rows were scored."""
    peaks = [peak_memory() / 2**20]
    rng = np.random.default_rng(0)
    for n in n_rows:
        chosen = rng.integers(len(X), size=n)
        # Rows of their own, which are no records.
        noise = 0.01 * rng.random(size=(n, X.shape[1]), dtype=np.float32)
        scorer.score_samples(X[chosen] + noise, y[chosen])
        peaks.append(peak_memory() / 2**20)
    return peaks


CASES = {
    case.__name__: case
    for case in (sketch, wide, products, block, preconditioner, memory)
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    parser.add_argument("--data", required=True, help="folder of mnist10k.npz")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--exact", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.cases or CASES:
        print(json.dumps({name: CASES[name](options)}, indent=1), flush=True)


if __name__ == "__main__":
    main()
