"""Scorers for GridSearchCV and cross_validate."""

import numpy as np
from sklearn.metrics import roc_auc_score

from skpriv.metrics._agreement import check_reference, rank_correlation
from skpriv.utils._pipelines import last_step, score_rows
from skpriv.utils._sklearn import MetadataRequester


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
        scores = score_rows(estimator, X, y)
        return rank_correlation(check_reference(reference, scores.size), scores)

    def __call__(self, estimator, X, y=None, *, reference):
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
    """

    __metadata_request__score = {"membership": True}

    def score(self, estimator, X, y, membership):
        scores = score_rows(estimator, X, y)
        if membership is None:
            of_members = last_step(estimator).scores_
            membership = np.repeat([1, 0], [of_members.size, scores.size])
            scores = np.concatenate([of_members, scores])
        return float(roc_auc_score(membership, scores))

    def __call__(self, estimator, X, y=None, *, membership=None):
        return self.score(estimator, X, y, membership)

    def __repr__(self):
        return "membership_scorer"


agreement_scorer = _AgreementScorer()
membership_scorer = _MembershipScorer()
