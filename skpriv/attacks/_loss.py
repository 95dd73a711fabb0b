"""The attack that thresholds the loss, without shadow models."""

from numbers import Real

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skpriv.attacks._base import ModelAttack
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skpriv.utils._training import draw_seeds


class LossAttack(ModelAttack, BaseEstimator):
    """Call a record a member if the model's loss on it is low.

    The cheapest attack, and the weakest: it cannot tell a record that the model has
    memorised from one that is easy to predict anyway.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The model to train as the target. None: logistic regression.
    target : classifier or regressor, default=None
        The fitted model to attack. None: `estimator` fitted on all records.
    smoothing : "auto" or float, default="auto"
        Votes added to each class; see :class:`LiRAAttack`.
    random_state : int, RandomState instance or None, default=None
        Seed of the target.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Minus the cross-entropy of each record or, for a regressor, minus its squared
        error; higher: more likely a member.
    target_ : classifier or regressor
        The model under attack.
    response_method_ : {"decision_function", "predict_proba", "predict"}
        The method that the loss is computed from. A decision function is taken as
        logits. If a classifier only predicts labels, the score is 1 if the label is
        right, else -1.
    classes_ : ndarray of shape (n_classes,)
        The labels, if the model is a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    References
    ----------
    Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning: analyzing
    the connection to overfitting", IEEE Computer Security Foundations, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skpriv import LossAttack
    >>> X, y = load_iris(return_X_y=True)
    >>> LossAttack(GaussianNB()).fit(X, y).scores_.shape
    (150,)
    """

    attacks_regressors = True

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"]), None],
        "target": [HasMethods(["predict"]), None],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator=None, *, target=None, smoothing="auto", random_state=None
    ):
        self.estimator = estimator
        self.target = target
        self.smoothing = smoothing
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train the target, unless it is given, and compute its loss on the records.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        X, codes = self._validate_records(X, y)
        (seed,) = draw_seeds(1, check_random_state(self.random_state))
        self.target_ = self._find_target(X, codes, seed)
        self.response_method_ = self._task.response_method(self.target_)
        self._remember_rows(X, codes)
        self._scores = self._minus_loss(X, codes)
        return self

    def _score_new_rows(self, X, y):
        return self._minus_loss(X, self._task.codes(y))

    def _minus_loss(self, X, codes):
        return self._task.minus_loss(self.target_, X, codes, self.smoothing)
