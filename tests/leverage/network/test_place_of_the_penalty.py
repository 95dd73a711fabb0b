"""Predicted success of attacks against the success measured on exact refits of halves.

The networks are linear, so that refits are exact. Half of the records are trained with
as large batches, so what differs is whether the penalty stands next to a sum or a mean.
"""

import numpy as np
import pytest
import torch
from scipy.special import expit
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from skorch import NeuralNetBinaryClassifier
from torch import nn

from skpriv import GLSScorer
from skpriv.leverage.network._mlp import PerceptronReader
from skpriv.leverage.network._skorch import SkorchReader

N, D, PENALTY = 120, 4, 20.0
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)).astype(np.float32).astype(float)
Y = (X[:, 0] + RNG.logistic(size=N) > 0).astype(int)


def optimum(X, y, penalty, fit_intercept):
    """Weights that minimise the sum of losses and penalty / 2 times their square.

    The intercept comes last; it is 0 unless it is fitted, and not penalised.
    """
    X = np.column_stack([X, np.full(len(X), float(fit_intercept))])
    decay = np.append(np.full(D, penalty), 0.0 if fit_intercept else 1.0)
    theta = np.zeros(D + 1)
    for _ in range(12):
        p = expit(X @ theta)
        H = (X * (p * (1 - p))[:, None]).T @ X + np.diag(decay)
        theta = theta - np.linalg.solve(H, X.T @ (p - y) + decay * theta)
    return theta


def measured_success(penalty_of_half, fit_intercept):
    rng = np.random.default_rng(1)
    signals, members = [], []
    for _ in range(400):
        half = rng.permutation(N) < N // 2
        for member in (half, ~half):
            *coef, intercept = optimum(
                X[member], Y[member], penalty_of_half, fit_intercept
            )
            f = X @ coef + intercept
            signals.append(np.where(Y == 1, f, -f))
            members.append(member)
    signals, members = np.array(signals), np.array(members)
    success = np.empty(N)
    for i in range(N):
        inside, outside = signals[members[:, i], i], signals[~members[:, i], i]
        spread = np.sqrt((inside.var() + outside.var()) / 2)
        success[i] = norm.cdf((inside.mean() - outside.mean()) / spread / 2)
    return success.mean()


def perceptron(batch_size):
    """Return a perceptron at the optimum for a penalty of PENALTY in all."""
    alpha = PENALTY * batch_size / N
    model = MLPClassifier((), alpha=alpha, batch_size=batch_size, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    *coef, intercept = optimum(X, Y, PENALTY, fit_intercept=True)
    model.coefs_, model.intercepts_ = [np.array(coef)[:, None]], [np.array([intercept])]
    return model


def net(reduction, batch_size):
    n_penalties = N / batch_size if reduction == "sum" else N
    model = NeuralNetBinaryClassifier(
        nn.Linear(D, 1, bias=False).double(),
        criterion=nn.BCEWithLogitsLoss,
        criterion__reduction=reduction,
        optimizer__weight_decay=PENALTY / n_penalties,
        batch_size=batch_size,
        train_split=None,
        verbose=0,
    ).initialize()
    with torch.no_grad():
        weights = optimum(X, Y, PENALTY, fit_intercept=False)[:-1]
        model.module_.weight[0] = torch.from_numpy(weights)
    return model


@pytest.mark.parametrize(
    ("make", "arguments", "share"),
    [
        (perceptron, (N,), 1.0),
        (perceptron, (N // 12,), 0.5),
        (net, ("mean", N), 0.5),
        (net, ("mean", N // 12), 0.5),
        (net, ("sum", N), 1.0),
        (net, ("sum", N // 12), 0.5),
    ],
)
def test_attack_power_is_the_success_that_is_measured(make, arguments, share):
    model = make(*arguments)
    reader = PerceptronReader(model) if make is perceptron else SkorchReader(model)
    assert reader.network(N).half_sample_damping == pytest.approx(2 * share)
    scorer = GLSScorer(
        FrozenEstimator(model), variant="attack_power", layers="all"
    ).fit(X, Y)
    predicted = scorer.scores_.mean()
    measured = measured_success(share * PENALTY, fit_intercept=make is perceptron)
    assert abs(predicted - measured) < 0.005
