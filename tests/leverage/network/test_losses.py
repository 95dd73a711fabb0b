"""Losses agree with their derivatives by autograd, and with torch's criteria."""

import numpy as np
import pytest
import torch
from torch.func import jacrev, vmap

from skpriv.leverage.network._losses import (
    LogisticLoss,
    SoftmaxLoss,
    SquaredLoss,
    others,
)

EXTREME = torch.tensor(
    [
        [0.0, 0.0, 0.0, 0.0],
        [800.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 800.0],
        [40.0, 0.0, -40.0, 39.0],
        [-750.0, -700.0, 0.0, -745.0],
        [0.0, 36.0, 0.0, 0.0],
        [1.0, 1.0, -800.0, -800.0],
    ],
    dtype=torch.float64,
)
SOFTMAX = [SoftmaxLoss(), SoftmaxLoss(label_smoothing=0.2)]
SQUARED = [SquaredLoss(), SquaredLoss(0.5, over_outputs="sum"), SquaredLoss(3.0)]


def _normal(*shape, seed=0, scale=1.0):
    values = np.random.RandomState(seed).normal(size=shape) * scale
    return torch.tensor(values, dtype=torch.float64)


def _cases():
    codes = torch.tensor([0, 3, 1, 2, 2, 1, 0])
    for loss in SOFTMAX:
        yield loss, _normal(7, 4, scale=3), codes
        yield loss, EXTREME, codes
        yield loss, _normal(7, 2, scale=3), codes % 2
    one = torch.tensor([[0.0], [3.0], [-3.0], [40.0], [-40.0], [800.0], [-800.0]])
    for labels in codes % 2, 1 - codes % 2:
        yield LogisticLoss(), one.double(), labels
    for loss in SQUARED:
        yield loss, _normal(7, 3), _normal(7, 3, seed=1)
        yield loss, _normal(7, 1), _normal(7, 1, seed=1)


CASES = list(_cases())


def _each(loss):
    """Loss of one record, of its logits and its label."""
    return lambda logits, code: loss.loss(logits[None], code[None])[0]


@pytest.mark.parametrize(("loss", "logits", "codes"), CASES)
def test_hessian_is_that_of_the_loss(loss, logits, codes):
    expected = vmap(jacrev(jacrev(_each(loss))))(logits, codes)
    torch.testing.assert_close(loss.hessian(logits), expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(("loss", "logits", "codes"), CASES)
def test_residuals_are_minus_the_gradient_of_the_loss(loss, logits, codes):
    logits = logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss.loss(logits, codes).sum(), logits)
    residuals = loss.residuals(logits.detach(), codes)
    torch.testing.assert_close(residuals, -gradient, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(("loss", "logits", "codes"), CASES)
def test_root_times_its_transpose_is_the_hessian(loss, logits, codes):
    root, expected = loss.hessian_root(logits), loss.hessian(logits)
    n_columns = logits.shape[1] - isinstance(loss, SoftmaxLoss)
    assert root.shape == (*logits.shape, n_columns)
    scale = expected.diagonal(dim1=1, dim2=2).sqrt()
    scale = scale[:, :, None] * scale[:, None, :]
    error = (root @ root.transpose(1, 2) - expected).abs()
    assert (error <= 1e-12 * scale).all()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_what_certain_records_lack_to_certainty_keeps_its_digits(order):
    """Probabilities 1 - 3e-40, 1e-40 and 2e-40, whose complement is no 0."""
    logits = torch.log(torch.tensor([[1.0, 1e-40, 2e-40]], dtype=torch.float64))
    logits = logits[:, order]
    rare = torch.tensor([3e-40, 1e-40, 2e-40], dtype=torch.float64)[order]
    loss, top = SoftmaxLoss(), torch.tensor([order.index(0)])
    for residuals in loss.residuals, loss.confidence_gradient:
        expected = torch.where(torch.arange(3) == top, rare, -rare)
        torch.testing.assert_close(
            residuals(logits, top)[0], expected, rtol=1e-12, atol=0
        )
    root = loss.hessian_root(logits)[0]
    for curvature in loss.hessian(logits)[0], root @ root.T:
        torch.testing.assert_close(curvature.diagonal(), rare, rtol=1e-12, atol=0)


def test_others_is_one_less_the_probability():
    p = _normal(5, 6).softmax(dim=1)
    torch.testing.assert_close(others(p), 1 - p, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("loss", "logits"),
    [(SoftmaxLoss(), _normal(6, 3)), (LogisticLoss(), _normal(6, 1))],
)
def test_confidence_gradient_is_that_of_the_log_odds_of_the_label(loss, logits):
    codes = torch.tensor([0, 1, 1, 0, 1, 0])
    logits = logits.clone().requires_grad_()
    p = torch.exp(-loss.loss(logits, codes))
    (gradient,) = torch.autograd.grad((p.log() - (1 - p).log()).sum(), logits)
    expected = (1 - p)[:, None] * gradient
    found = loss.confidence_gradient(logits.detach(), codes)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=0)
    assert loss.has_confidence


def test_smoothing_takes_from_what_a_label_does_to_the_gradient():
    for loss in SOFTMAX:
        logits = _normal(3, 3)
        ones, twos = torch.full((3,), 1), torch.full((3,), 2)
        moved = loss.residuals(logits, twos) - loss.residuals(logits, ones)
        expected = torch.tensor([0.0, -1.0, 1.0]).double() * loss.label_factor
        torch.testing.assert_close(moved, expected.expand(3, 3))


CRITERIA = [
    (SoftmaxLoss(), torch.nn.CrossEntropyLoss()),
    (SoftmaxLoss(label_smoothing=0.3), torch.nn.CrossEntropyLoss(label_smoothing=0.3)),
    *[
        (SoftmaxLoss(w, weighted_mean=mean), torch.nn.CrossEntropyLoss(w, reduction=r))
        for w in [torch.tensor([0.5, 1.0, 4.0]).double()]
        for mean, r in [(True, "mean"), (False, "sum")]
    ],
    (LogisticLoss(), torch.nn.BCEWithLogitsLoss()),
    (LogisticLoss(3.0), torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))),
    (SquaredLoss(), torch.nn.MSELoss()),
    (SquaredLoss(over_outputs="sum"), torch.nn.MSELoss(reduction="sum")),
]


@pytest.mark.parametrize(("loss", "criterion"), CRITERIA)
def test_weighted_losses_over_their_total_are_the_criterion(loss, criterion):
    codes = torch.tensor([0, 2, 1, 1, 0, 2, 2])
    logits = _normal(7, 3)
    if isinstance(loss, LogisticLoss):
        codes, logits = codes % 2, logits[:, :1]
        expected = criterion(logits[:, 0], codes.double())
    else:
        codes = _normal(7, 3, seed=1) if isinstance(loss, SquaredLoss) else codes
        expected = criterion(logits, codes)
    weights = loss.weights(codes)
    found = (weights * loss.loss(logits, codes)).sum()
    if criterion.reduction == "mean":
        found = found / loss.total(codes, torch.ones(7))
    else:
        assert loss.total(codes, torch.ones(7)) == 7
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


def test_probabilities_become_logits_that_give_them_back():
    p = _normal(5, 3).softmax(dim=1)
    found = SoftmaxLoss(log_eps=1e-16).logits(p).softmax(dim=1)
    torch.testing.assert_close(found, p, rtol=1e-14, atol=0)
    assert SoftmaxLoss(log_eps=1e-7).logits(torch.eye(2)).isfinite().all()


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()])
def test_one_output_may_come_without_its_axis(loss):
    assert loss.logits(torch.zeros(5)).shape == (5, 1)
    assert loss.logits(torch.zeros(5, 1)).shape == (5, 1)


@pytest.mark.parametrize(
    ("loss", "outputs", "codes", "match"),
    [
        (SoftmaxLoss(), torch.zeros(4), torch.zeros(4).long(), "one column for each"),
        (SoftmaxLoss(), torch.zeros(4, 1), torch.zeros(4).long(), "one column for"),
        (SoftmaxLoss(), torch.zeros(4, 2, 3), torch.zeros(4).long(), "one column for"),
        (SoftmaxLoss(), torch.zeros(4, 2), torch.arange(4), "number 3, but the net"),
        (SoftmaxLoss(log_eps=1e-7), torch.ones(4, 2), torch.zeros(4).long(), "softmax"),
        (
            SoftmaxLoss(log_eps=1e-7),
            torch.eye(2) * 2 - 0.5,
            torch.arange(2),
            "must be prob",
        ),
        (LogisticLoss(), torch.zeros(4, 2), torch.zeros(4).long(), "several labels"),
        (SquaredLoss(), torch.zeros(4, 2), torch.zeros(4, 1), r"shape \(4, 2\), but y"),
    ],
)
def test_outputs_that_do_not_fit_the_labels_are_refused(loss, outputs, codes, match):
    with pytest.raises(ValueError, match=match):
        loss.check(outputs, codes)


def test_outputs_that_fit_the_labels_pass():
    SoftmaxLoss().check(torch.zeros(4, 2), torch.tensor([0, 1, 1, 0]))
    SoftmaxLoss(log_eps=1e-7).check(torch.eye(2), torch.arange(2))
    LogisticLoss().check(torch.zeros(4), torch.zeros(4))
    SquaredLoss().check(torch.zeros(4), torch.zeros(4, 1))
