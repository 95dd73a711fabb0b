"""Scorers for GridSearchCV and cross_validate."""

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from skpriv.metrics._agreement import check_reference, rank_correlation
from skpriv.utils._sklearn import MetadataRequester


def score_rows(estimator, X, y):
    """Scores of rows with their labels, which a Pipeline would not pass on."""
    if isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        estimator = estimator[-1]
    return estimator.score_samples(X, y)


class _AgreementScorer(MetadataRequester):
    """Rank correlation of the scores of held-out rows with a reference.

    Call it with an estimator fitted on other rows, rows, their labels, and
    `reference`, array-like of shape (n_samples,), the value that each row's score
    should rank by. It asks for `reference` by itself, so that a search passes it on::

        sklearn.set_config(enable_metadata_routing=True)
        GridSearchCV(scorer, grid, scoring=agreement_scorer).fit(
            X, y, reference=success
        )
    """

    __metadata_request__score = {"reference": True}

    def score(self, estimator, X, y, reference):
        scores = score_rows(estimator, X, y)
        return rank_correlation(check_reference(reference, scores.size), scores)

    def __call__(self, estimator, X, y=None, *, reference):
        return self.score(estimator, X, y, reference)

    def __repr__(self):
        return "agreement_scorer"


class _MembershipScorer(MetadataRequester):
    """AUC of the scores as a test of membership.

    Call it with a fitted attack or scorer, rows and their labels, and optionally
    `membership`, array-like of shape (n_samples,), which rows the model was trained
    on (in a search: routed metadata, as for ``agreement_scorer``). Without it the
    training records of the estimator are the members, and the rows given, which a
    cross-validation holds out, are not.
    """

    __metadata_request__score = {"membership": True}

    def score(self, estimator, X, y, membership):
        scores = score_rows(estimator, X, y)
        if membership is None:
            last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
            membership = np.repeat([1, 0], [last.scores_.size, scores.size])
            scores = np.concatenate([last.scores_, scores])
        return float(roc_auc_score(membership, scores))

    def __call__(self, estimator, X, y=None, *, membership=None):
        return self.score(estimator, X, y, membership)

    def __repr__(self):
        return "membership_scorer"


agreement_scorer = _AgreementScorer()
membership_scorer = _MembershipScorer()
