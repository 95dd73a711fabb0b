"""Scorers for GridSearchCV and cross_validate."""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from skpriv.metrics._agreement import check_reference, rank_correlation
from skpriv.utils._pipelines import last_step, score_rows
from skpriv.utils._sklearn import MetadataRequester

_NOT_GIVEN = object()


class _AgreementScorer(MetadataRequester):
    """Rank correlation of the scores of held-out rows with a reference.

    Call it with an estimator fitted on other rows, the held-out rows, their labels
    and `reference`, array-like of shape (n_samples,): the scores should rank the rows
    as the reference does. It requests `reference` as metadata, so that a search
    passes it on::

        sklearn.set_config(enable_metadata_routing=True)
        GridSearchCV(scorer, grid, scoring=agreement_scorer).fit(
            X, y, reference=success
        )
    """

    __metadata_request__score = {"reference": True}

    def score(self, estimator, X, y, reference):
        if reference is _NOT_GIVEN:
            raise TypeError(
                "agreement_scorer needs a reference: call it with reference=..., or, "
                "in a search or cross-validation, call "
                "sklearn.set_config(enable_metadata_routing=True) and pass reference "
                "to it as metadata."
            )
        scores = score_rows(estimator, X, y)
        return rank_correlation(check_reference(reference, scores.size), scores)

    def __call__(self, estimator, X, y=None, *, reference=_NOT_GIVEN):
        return self.score(estimator, X, y, reference)

    def __repr__(self):
        return "agreement_scorer"


class _MembershipScorer(MetadataRequester):
    """AUC of the scores as a test of membership.

    Call it with a fitted attack or scorer, rows, their labels and, optionally,
    `membership`, array-like of shape (n_samples,): True for the rows that the model
    was trained on (in a search, routed metadata as for ``agreement_scorer``). Without
    `membership`, the training records of the estimator are the members, and the rows
    given, which a cross-validation holds out, are the non-members.

    A search with ``membership_scorer`` finds the parameters with which members are
    easiest to tell from non-members; one with ``neg_membership_scorer``, those with
    which they are hardest to tell.

    The value is NaN, with a warning, for an estimator whose scores of new rows cannot
    be compared with those of its training records: a scorer with ``cv``, or an attack
    that can score only the records that its shadows were trained on. See
    :func:`~skpriv.evaluation.cross_val_membership` for such attacks.
    """

    def __init__(self, sign=1):
        self._sign = sign

    __metadata_request__score = {"membership": True}

    def score(self, estimator, X, y, membership):
        last = last_step(estimator)
        reason = _reason_against_comparison(last, membership is None)
        if reason:
            warnings.warn(
                f"{self!r} is NaN for {type(last).__name__}: {reason}.", stacklevel=3
            )
            return np.nan
        scores = score_rows(estimator, X, y)
        if membership is None:
            of_members = last.scores_
            membership = np.repeat([1, 0], [of_members.size, scores.size])
            scores = np.concatenate([of_members, scores])
        return self._sign * float(roc_auc_score(membership, scores))

    def __call__(self, estimator, X, y=None, *, membership=None):
        return self.score(estimator, X, y, membership)

    def __repr__(self):
        return "membership_scorer" if self._sign > 0 else "neg_membership_scorer"


def _reason_against_comparison(scorer, with_new_rows):
    """Return why scores do not tell members from others, or ""."""
    if getattr(scorer, "cross_fitted", False):
        return (
            f"with cv={scorer.cv!r}, training records are scored at models fitted "
            "without them, and other rows at the model fitted on all; cv must be None"
        )
    if not (with_new_rows and hasattr(scorer, "_reason_against_new_rows")):
        return ""
    reason = scorer._reason_against_new_rows()
    return reason and f"{reason}, or use skpriv.evaluation.cross_val_membership"


agreement_scorer = _AgreementScorer()
membership_scorer = _MembershipScorer()
neg_membership_scorer = _MembershipScorer(sign=-1)
