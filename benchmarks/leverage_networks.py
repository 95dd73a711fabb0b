"""How well cheap scores tell what LiRA measures on a network, by depth, on MNIST.

    python benchmarks/leverage_networks.py --data FOLDER [--cache FOLDER]
        [--figure FILE] [--rows 10000] [--shadows 32] [--wrong 0 0.05] [--seed 1]

FOLDER holds mnist10k.npz: images and labels of 10,000 digits. A small convolutional
network is trained on random halves of them, with all labels right and with some wrong,
and LiRA's success against each digit is measured. Each score is then computed for the
last layer, the last two and all of them,

- in-sample: at one network, trained on all digits (whose training is not timed), and
- cross-fitted: at networks trained without the digit, twice two folds (whose training
  is timed).

Tables in Markdown: the rank correlation (Spearman) of each score with the success,
beside what a perfect score attains, with seconds and peak memory, each score in a
process of its own; and the rank correlation of each score for the last layer with that
for the last two. The figure draws correlation against time. With --cache, a run that
was stopped resumes.
"""

import argparse
import json
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from digits import classifier, in_process, load_digits, trained
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import RepeatedStratifiedKFold

from skpriv import GLSScorer, LiRAAttack
from skpriv.metrics import score_agreement

LAYERS = {"last": "last", "last two": 2, "all": "all"}
SCORES = ("leverage", "self_influence", "attack_power")


def folds(seed):
    return RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=seed)


def lira(folder, n_rows, wrong, seed, n_shadows, cache):
    """Success against each digit, its split halves, and the seconds of a run."""
    X, y = load_digits(folder, n_rows, wrong, seed)
    if cache is not None:
        cache = Path(cache) / f"lira-{n_rows}-{wrong}-{seed}-{n_shadows}"
    attack = LiRAAttack(
        classifier(), n_shadows=n_shadows, cache_dir=cache, random_state=seed
    ).fit(X, y)
    # What shadows cost that were read from a cache.
    start = time.perf_counter()
    trained(X[::2], y[::2], seed=seed)
    seconds = n_shadows * (time.perf_counter() - start)
    return attack.attack_success_, attack.attack_success_halves_, seconds


def in_sample(net, options, *data):
    return GLSScorer(FrozenEstimator(net), **options), *load_digits(*data)


def cross_fitted(net, options, *data):
    cv = folds(options["random_state"])
    return GLSScorer(clone(net), cv=cv, **options), *load_digits(*data)


def scored(scorer, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return scorer.fit(X, y).scores_, scorer.solver_


def with_seed(*data):
    return *load_digits(*data), data[-1]


def out_of_fold_loss(X, y, seed):
    """Mean loss of each digit at networks trained without it."""
    loss = np.zeros(len(y))
    for fold, (train, test) in enumerate(folds(seed).split(X, y)):
        proba = trained(X[train], y[train], seed=10 * seed + fold).predict_proba(
            X[test]
        )
        own = np.maximum(proba[np.arange(len(test)), y[test]], 1e-38)
        loss[test] -= np.log(own)
    return loss


def remember(folder, name, compute):
    """Return what `compute` returned, from a file if it was computed before."""
    if folder is None:
        return compute()
    file = Path(folder) / f"{name}.npz"
    if not file.exists():
        scores, *facts = compute()
        Path(folder).mkdir(parents=True, exist_ok=True)
        np.savez(file, scores=scores, facts=json.dumps(facts))
    with np.load(file) as data:
        return data["scores"], *json.loads(str(data["facts"]))


def measure(arguments, wrong):
    """Scores, seconds, MiB and solver by (how, layers, score)."""
    data = (arguments.data, arguments.rows, wrong, arguments.seed)
    net = trained(*load_digits(*data), seed=arguments.seed)
    found = {}
    for (how, setup), layers, score in product(
        (("in-sample", in_sample), ("cross-fitted", cross_fitted)),
        arguments.layers,
        arguments.scores,
    ):
        options = {
            "layers": LAYERS[layers],
            "variant": score,
            "solver": arguments.solver,
            "n_sketches": arguments.sketches,
            "tol": arguments.tol,
            "random_state": arguments.seed,
        }

        def compute(setup=setup, options=options):
            (scores, solver), seconds, memory = in_process(
                setup, scored, net, options, *data, threads=arguments.threads
            )
            return scores, seconds, memory, solver

        settings = (arguments.solver, arguments.sketches, arguments.tol)
        name = "-".join(map(str, (*data[1:], how, layers, score, *settings)))
        found[how, layers, score] = remember(arguments.cache, name, compute)

    def loss():
        values, seconds, memory = in_process(
            with_seed, out_of_fold_loss, *data, threads=arguments.threads
        )
        return values, seconds, memory, "none"

    name = "-".join(map(str, (*data[1:], "loss")))
    found["cross-fitted", "none", "loss"] = remember(arguments.cache, name, loss)
    return found


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    print("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines), end="\n\n")


def report(wrong, success, halves, seconds, found):
    attainable = score_agreement(success, success, halves=halves).attainable
    print(
        f"{wrong:.0%} of the labels wrong: mean success {success.mean():.3f}, "
        f"attainable {attainable:.2f}, shadows trained in {seconds:.0f} s.\n"
    )
    rows = []
    for (how, layers, score), (values, taken, memory, solver) in found.items():
        agreement = score_agreement(success, values)
        low, high = agreement.spearman_interval
        spearman = f"{agreement.spearman:.3f} ({low:.2f} to {high:.2f})"
        rows.append(
            (score, layers, how, spearman, f"{taken:.1f}", f"{memory:.0f}", solver)
        )
    names = ("score", "layers", "scored", "Spearman (95 %)", "s", "MiB", "solver")
    table(names, rows)
    pairs = [
        (score, how, other, f"{spearmanr(values, found[how, other, score][0])[0]:.3f}")
        for (how, layers, score), (values, *_) in found.items()
        if layers == "last"
        for other in LAYERS
        if other != "last" and (how, other, score) in found
    ]
    table(("score", "scored", "last layer against", "Spearman"), pairs)
    return attainable


def draw(results, file):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(results), figsize=(5 * len(results), 4.5), sharey=True, squeeze=False
    )
    markers = {"last": "o", "last two": "s", "all": "^", "none": "x"}
    scores = dict(zip((*SCORES, "loss"), ("C0", "C1", "C2", "k"), strict=True))
    for ax, (wrong, (success, attainable, seconds, found)) in zip(
        axes[0], results.items(), strict=True
    ):
        for (how, layers, score), (values, taken, *_) in found.items():
            ax.scatter(
                taken,
                score_agreement(success, values).spearman,
                marker=markers[layers],
                edgecolors=None if layers == "none" else scores[score],
                facecolors=scores[score]
                if how == "cross-fitted"
                else matplotlib.colors.to_rgba("white"),
                label="out-of-fold loss"
                if score == "loss"
                else f"{score.replace('_', ' ')}, {layers}, {how}",
            )
        ax.plot(
            seconds, attainable, "*", color="k", label="what a perfect score attains"
        )
        ax.set(
            xscale="log",
            xlabel="seconds",
            title=f"{wrong:.0%} of the labels wrong",
        )
    axes[0, 0].set_ylabel("rank correlation with LiRA's success")
    axes[0, -1].legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(file, bbox_inches="tight", dpi=150)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of mnist10k.npz")
    parser.add_argument("--cache", help="folder for what was computed")
    parser.add_argument("--figure", help="file to draw to, such as figure.png")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--shadows", type=int, default=32)
    parser.add_argument("--wrong", type=float, nargs="+", default=[0.0, 0.05])
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--scores", nargs="+", choices=SCORES, default=SCORES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--sketches", type=int, default=128)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    run_lira = partial(
        lira,
        arguments.data,
        arguments.rows,
        seed=arguments.seed,
        n_shadows=arguments.shadows,
        cache=arguments.cache,
    )
    results = {}
    for wrong in arguments.wrong:
        success, halves, seconds = run_lira(wrong)
        found = measure(arguments, wrong)
        attainable = report(wrong, success, halves, seconds, found)
        results[wrong] = success, attainable, seconds, found
    if arguments.figure:
        draw(results, arguments.figure)


if __name__ == "__main__":
    main()
