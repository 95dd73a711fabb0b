"""Linear models of scikit-learn, as a `GLSScorer` sees them."""

import warnings
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array

from skpriv.leverage._adapters import Adapter
from skpriv.leverage._inverse import NegativeCurvatureError
from skpriv.leverage._scores import RecordTerms, Sensitivities, Status
from skpriv.leverage.linear._held_out import held_out, holds_out, remember_split
from skpriv.leverage.linear._polish import polish
from skpriv.leverage.linear._readers import READERS, SMOOTH_LOSSES
from skpriv.leverage.linear._sensitivities import LinearSensitivities
from skpriv.leverage.linear._stationary import (
    LEAST_SQUARES,
    is_far_from_optimum,
    largest_excess,
)
from skpriv.utils._checks import check_scale
from skpriv.utils._labels import Labels
from skpriv.utils._pipelines import last_step

# A linear model has one layer, and its curvature is solved for directly.
_OPTIONS = {
    "layers": ("last", "all", 1),
    "solver": ("auto", "direct"),
    "curvature": ("ggn",),
    "damping": ("auto",),
    "device": ("auto", "cpu"),
}


class LinearAdapter(Adapter):
    """Models whose logits are linear in the features; one reader each in `READERS`."""

    def check(self, y):
        kind = type(self.model)
        if kind in SMOOTH_LOSSES and self.model.loss not in SMOOTH_LOSSES[kind]:
            raise TypeError(
                f"estimator is a {kind.__name__} with loss={self.model.loss!r}, which "
                "does not have a smooth curvature; the loss must be one of "
                f"{SMOOTH_LOSSES[kind]}."
            )
        for name, allowed in _OPTIONS.items():
            value = getattr(self.options, name)
            if value not in allowed:
                raise ValueError(
                    f"{name}={value!r} applies to networks only, but estimator ends in "
                    f"{self.model!r}; {name} must be one of {allowed}."
                )

    def array(self, fitted, X):
        return check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            estimator="GLSScorer",
        )

    def training_weights(self, fitted, y, sample_weight):
        """Return the weights of records, 0 for those that early stopping held out."""
        if not holds_out(fitted.model):
            return sample_weight
        return np.where(held_out(fitted.model, y), 0.0, sample_weight)

    def _fit_copy(self, copy, X, y, sample_weight):
        if isinstance(self.model, LogisticRegression) and sample_weight is not None:
            _check_balance(self.model, y, sample_weight)
        remember_split(last_step(copy))
        return super()._fit_copy(copy, X, y, sample_weight)

    def check_labels(self, fitted, y):
        if not self.is_classifier:
            return
        if y.ndim > 1:
            raise ValueError(
                f"y has shape {y.shape}, but a classifier's labels must be of shape "
                "(n_samples,); score each label of a multilabel problem by itself."
            )
        classes = fitted.model.classes_
        unknown = np.unique(y[Labels(classes).codes(y, unknown=-1) < 0])
        if unknown.size:
            raise ValueError(
                f"y has labels {unknown[:5]} that the model was not fitted on; they "
                f"must be among {classes[:5]}{' and more' * (len(classes) > 5)}."
            )

    def sensitivities(
        self, fitted, rows, y, sample_weight, random_state, *, attack_power
    ):
        self.check_labels(fitted, y)
        if attack_power and not self.is_classifier:
            check_scale(y, "y")
        model = fitted.model
        read = READERS[type(model)]
        sample_weight = self.training_weights(fitted, y, sample_weight)
        sensitivities = read(model, rows, y, sample_weight)
        if attack_power and not sensitivities.has_attack_power:
            raise ValueError(
                "variant='attack_power' needs a model of a single output, as a "
                "classifier of two classes or a regressor of one target is, or a "
                "LogisticRegression, which fits the probabilities of all classes in "
                f"one loss; but estimator ends in {model!r}."
            )
        if attack_power and sensitivities.varies_in_support:
            warnings.warn(
                "no record has an attack power (all are NaN), since estimator has an "
                "L1 penalty or positive=True: models fitted on random halves of the "
                "records differ in which weights are zero, which the prediction does "
                "not allow for. Use an L2 penalty, or shadow models.",
                stacklevel=3,
            )
        rows = rows.tocsr() if sp.issparse(rows) else rows
        try:
            sensitivities.solve(rows, y, sample_weight, attack_power=attack_power)
        except NegativeCurvatureError:
            return WithoutScores(Status.NOT_A_MINIMUM)
        if attack_power and sensitivities.fits_exactly:
            warnings.warn(
                "no record has an attack power (all are NaN), since estimator has no "
                "residuals on the records but rounding errors, which do not tell how "
                "models of random halves differ. Use a penalty, cv, or shadow models.",
                stacklevel=3,
            )
        records = (rows, y, sample_weight)
        if self.frozen and self._was_fitted_elsewhere(sensitivities, *records):
            return WithoutScores(Status.OTHER_RECORDS)
        return sensitivities

    def polish(self, sensitivities, rows, y, sample_weight, *, attack_power):
        """Take Newton steps to the optimum of the objective."""
        if not isinstance(sensitivities, LinearSensitivities):
            return None
        rows = rows.tocsr() if sp.issparse(rows) else rows
        return polish(sensitivities, rows, y, sample_weight, attack_power=attack_power)

    def _was_fitted_elsewhere(self, sensitivities, X, y, sample_weight):
        """Tell whether a model was fitted on other records or with other weights."""
        if not isinstance(self.model, LEAST_SQUARES):
            return is_far_from_optimum(self.model, sensitivities, X, y, sample_weight)
        squares = sensitivities.sum_of_squares(y, sample_weight)
        largest = largest_excess(self.model, sample_weight.sum(), squares)
        return sensitivities.excess > largest


def _check_balance(model, y, sample_weight):
    """Raise unless each class has a weight, if a logistic regression balances them."""
    if model.class_weight != "balanced":
        return
    classes = np.unique(y)
    weights = np.array([sample_weight[y == label].sum() for label in classes])
    weightless = classes[weights == 0].tolist()
    if weightless:
        raise ValueError(
            "class_weight='balanced' needs a record of positive weight in each class, "
            "but the sample_weight of all records is 0 in class "
            f"{', '.join(map(repr, weightless))}."
        )


class WithoutScores(Sensitivities):
    """A model at which no record has a score, for one reason.

    Parameters
    ----------
    reason : Status
    """

    def __init__(self, reason):
        self._reason = reason

    def terms(self, X, y, sample_weight):
        n_records = X.shape[0]
        unknown = np.full(n_records, np.nan)
        terms = RecordTerms.without_minimum(n_records, newton_step=unknown)
        return replace(terms, status=np.full(n_records, self._reason))
