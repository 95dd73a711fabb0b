"""The leverage of each training record on a model's own predictions."""

from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv.base import RecordScorerMixin
from skpriv.leverage._inverse import NegativeCurvatureError
from skpriv.leverage._models import (
    check_known_classes,
    check_supported,
    explain,
    explain_network,
    fit_model,
    read_labels,
    refits,
    rows_for_fit,
    rows_of,
    unwrap,
)
from skpriv.leverage._network._detect import is_network
from skpriv.leverage._options import NetworkOptions
from skpriv.leverage._terms import RecordTerms, score_of
from skpriv.leverage._trust import LARGEST_STEP, overall_step, trusted, warn_of_missing
from skpriv.leverage.linear._separable import SeparableModel
from skpriv.utils._labels import check_same_kind_of_label
from skpriv.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    safe_indexing,
)
from skpriv.utils._training import check_untrained


class GLSScorer(RecordScorerMixin, CallbackSupportMixin, BaseEstimator):
    """Score records by how hard their own labels pull the model's predictions.

    The generalised leverage score (GLS) of a record is the sensitivity of the model's
    prediction for it to its own label: the trace of ∂p(x_i)/∂y_i, the model being
    refitted. It is the hat matrix's diagonal for least squares and Pregibon's leverage
    for logistic regression, and it is computed without refitting: by the implicit
    function theorem it is Tr(Λ_i J_i H⁻¹ J_iᵀ), with J_i the derivative of the record's
    logits in the parameters, Λ_i the curvature of its loss in the logits, and H the
    Hessian of the whole objective, the penalty included.

    Parameters
    ----------
    estimator : estimator, default=None
        The model: LinearRegression, Ridge, Lasso, ElasticNet, HuberRegressor,
        PoissonRegressor, GammaRegressor, TweedieRegressor, RidgeClassifier,
        LogisticRegression, SGDRegressor or SGDClassifier with a smooth loss; a
        NeuralNetClassifier, NeuralNetBinaryClassifier or NeuralNetRegressor of skorch,
        with CrossEntropyLoss, NLLLoss, BCEWithLogitsLoss or MSELoss; an MLPClassifier
        or MLPRegressor; a Pipeline that ends in one; or one of these that is fitted
        already, in a `FrozenEstimator`. A frozen one must have been fitted on the
        rows, and the sample weights, that are passed to ``fit``. None takes a
        LogisticRegression, converged tightly, if the target is discrete, and else a
        Ridge.
    variant : {"leverage", "self_influence", "attack_power"}, default="leverage"
        What to score records by.

        - "leverage": the GLS.
        - "self_influence": the first-order rise of a record's loss when it is removed.
        - "attack_power": the predicted success rate, between 0.5 and 1, of a
          likelihood ratio attack (LiRA) on the record, without a shadow model. For
          classifiers that fit all probabilities in one loss.
    space : {"probability", "logit"}, default="probability"
        Whether leverage is that on the prediction (probabilities, the mean of a
        generalised linear model) or on the logit (the linear predictor), relative to
        the mean logit where each class has one. Only the former may be combined with
        another `variant`.
    layers : "last", "all", int or list of str, default="last"
        For networks: whose parameters are taken to follow a label: those of the last
        layer, of the last so many, of all, or the parameters whose names begin so.
    solver : {"auto", "direct", "cg", "sketch"}, default="auto"
        For networks.

        - "direct": one Cholesky factorisation of the curvature, exact.
        - "cg": conjugate gradients for each record, to the residual `tol`.
        - "sketch": all training records by `n_sketches` solves, within a relative error
          of about ``sqrt(2 / n_sketches)``.
        - "auto": the one with the fewest operations, the sketch only if it takes less
          than a fifth of them, the direct one only if it fits into free memory.
    curvature : {"ggn", "hessian"}, default="ggn"
        For networks: the generalised Gauss-Newton matrix, which is never negative, or
        the Hessian itself.
    damping : "auto" or float, default="auto"
        For networks: the λ of a penalty λ ‖θ‖²/2 next to the mean loss. "auto": the
        optimiser's weight decay or the perceptron's `alpha`, and if there is none a
        thousandth of the mean curvature.
    cv : int, cross-validation splitter or iterable, default=None
        Folds. Each training record is scored at models that are fitted without it, as
        they would answer to it, and the scores are averaged if it is in several test
        sets. None scores all records at the model fitted on all of them.
    n_sketches : int, default=128
        Number of systems that the sketch solves; with "attack_power" three times that.
    tol : float, default=1e-6
        Relative residual at which a system counts as solved, by conjugate gradients;
        below 1.
    max_iter : int, default=1000
        Largest number of their iterations.
    batch_size : "auto" or int, default="auto"
        For networks: number of records that are taken at once; "auto": as many as a
        part of the free memory holds.
    device : str, default="auto"
        For networks: where to compute, such as "cpu" or "cuda"; "auto": where the
        network is.
    random_state : int, RandomState instance or None, default=None
        Draws the sketch and, if not None, seeds the estimator before it is fitted:
        all its random states, and torch's. Pass an int for scores that repeat.

    Attributes
    ----------
    estimator_ : estimator
        The model, fitted on all rows.
    scores_ : ndarray of shape (n_samples,)
        Scores of the training records, in training order; higher: more exposed.
    effective_parameters_ : float
        Sum of the training records' leverages on the prediction at `estimator_`: the
        number of parameters without a penalty, less with one.
    solver_ : {"direct", "cg", "sketch"}
        The solver that was taken.
    damping_ : float or dict of str to float
        The damping, by name of the parameter if it differs between them. For networks.
    n_iter_ : ndarray of int, of shape (n_samples,)
        Number of iterations that each training record's score took: 1 for a direct
        solution, and the most of all systems for the sketch.
    residuals_ : ndarray of shape (n_samples,)
        Relative residual that they left; 0 for a direct solution.
    newton_step_ : ndarray of shape (n_samples,)
        How far one Newton step from the fitted weights would still move each training
        record's logit (in standard deviations of the target for squared losses), or
        the median record's, by leverage, if that is more: the curvature of all records
        is in each score. About the relative error of its score. For linear models;
        networks are scored at the weights that they have.
    converged_ : ndarray of bool, of shape (n_samples,)
        Whether that is small enough for a score; for networks, whether its systems
        were solved, and met no negative curvature.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if `X` had any.

    Warns
    -----
    ConvergenceWarning
        If scores are NaN, since the model is at no optimum, or has none (separable
        classes without a penalty), or a row needs directions that no training row
        has, or conjugate gradients ended too early or met a negative curvature. The
        warning says how many, and why.

    See Also
    --------
    skpriv.leverage.gaussian : What a leverage means for an attack.

    Notes
    -----
    Sample weights multiply a record's loss, and hence its leverage. The weights that
    ``class_weight="balanced"`` sets are held fixed. With an L1 penalty or under
    ``positive=True`` the weights at zero stay there (the active set); scores hold for
    changes of a label too small to change that set.

    Attack power compares, to first order, a record's confidence at models fitted on
    random halves of the data with it and without it: the gap of the means against the
    standard deviation on either side. A half meets the whole penalty where that
    stands next to the sum of losses; next to their mean, as a network's weight decay
    does, it shrinks with the half. What the record itself adds to the variance is not
    counted as noise.

    Multi-output least squares average the leverage over the outputs, so that it is the
    hat matrix's diagonal again.

    Networks are scored in evaluation mode (no dropout, batch norms with their running
    statistics), in double precision. Rows that skorch's `train_split` holds out count
    as training records; pass ``train_split=None``. Integer labels from 0 on are the
    numbers of a net's outputs, others are numbered in sorted order. A network that
    fits its training labels closely has no curvature left there, and its in-sample
    scores fade where it memorises most; scores by `cv` do not.

    References
    ----------
    .. [1] D. Pregibon, "Logistic Regression Diagnostics", Annals of Statistics 9
       (1981).
    .. [2] B.-C. Wei, Y.-Q. Hu and W.-K. Fung, "Generalized Leverage and its
       Applications", Scandinavian Journal of Statistics 25 (1998).
    .. [3] Z. Frangella, J. A. Tropp and M. Udell, "Randomized Nyström
       Preconditioning", SIAM Journal on Matrix Analysis and Applications 44 (2023).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skpriv import GLSScorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = GLSScorer(LogisticRegression(tol=1e-6, max_iter=1000)).fit(X, y)
    >>> scorer.scores_.argmax()
    np.int64(106)
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"]), None],
        "variant": [StrOptions({"leverage", "self_influence", "attack_power"})],
        "space": [StrOptions({"probability", "logit"})],
        "layers": [
            StrOptions({"last", "all"}),
            Interval(Integral, 1, None, closed="left"),
            list,
            tuple,
        ],
        "solver": [StrOptions({"auto", "direct", "cg", "sketch"})],
        "curvature": [StrOptions({"ggn", "hessian"})],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "n_sketches": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "device": [str],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        variant="leverage",
        space="probability",
        layers="last",
        solver="auto",
        curvature="ggn",
        damping="auto",
        cv=None,
        n_sketches=128,
        tol=1e-6,
        max_iter=1000,
        batch_size="auto",
        device="auto",
        random_state=None,
    ):
        self.estimator = estimator
        self.variant = variant
        self.space = space
        self.layers = layers
        self.solver = solver
        self.curvature = curvature
        self.damping = damping
        self.cv = cv
        self.n_sketches = n_sketches
        self.tol = tol
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.device = device
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(Ridge() if self.estimator is None else self.estimator)
        tags.input_tags = inner.input_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        tags.target_tags.positive_only = inner.target_tags.positive_only
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the model, unless it is frozen, and score the training records.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The training rows, in whatever form the estimator takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the records in the model's loss; None: all 1.

        Returns
        -------
        self : GLSScorer

        Raises
        ------
        TypeError
            If the model, or a network's loss, is none of those supported.
        ValueError
            If a parameter does not apply to the model, or `cv` asks a
            frozen one to be fitted again.
        ImportError
            If the model is a network and torch or skorch is not installed.
        """
        X, y = self._validate_fit(X, y)
        weights = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        given = weights if sample_weight is not None else None
        estimator = self._estimator_for(y)
        self._labels = read_labels(estimator, y)
        random_state = check_random_state(self.random_state)
        splits = self._split(estimator, X, y)
        progress = self._init_callback_context(max_subtasks=len(splits))
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)

        self.estimator_ = self._fit_model(estimator, X, y, given, random_state)
        rows = self._transform(self.estimator_, X)
        self._model = self._explain(self.estimator_, rows, y, weights, random_state)
        terms = _terms_of(self._model, rows, y, weights)
        if self.cv is None:
            scores, parts = self._score_terms(terms, members=True), [terms]
        else:
            scores, parts = self._cross_fit(
                estimator, X, y, weights, given, splits, random_state, progress
            )

        warn_of_missing(parts, self._exact(self.variant))
        self._remember_records(rows, y)
        self._fit_scores, self._weights = scores, weights
        self._report(terms)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _report(self, terms):
        """Set what is known of the model at all rows, from its records' terms."""
        # No training record is below the step of the model as a whole.
        self._overall_step = np.fmin.reduce(terms.step, initial=np.inf)
        leverage = np.where(
            trusted(terms, self._exact("leverage")), terms.leverage, np.nan
        )
        self.effective_parameters_ = float(leverage.sum())
        self.converged_ = terms.step <= LARGEST_STEP
        self.solver_ = getattr(self._model, "solver", "direct")
        if terms.solution is None:
            self.newton_step_ = terms.step
            self.n_iter_ = np.ones(len(terms.step), dtype=int)
            self.residuals_ = np.zeros(len(terms.step))
            return
        self.damping_ = self._model.damping
        self.n_iter_ = terms.solution.n_iter
        self.residuals_ = terms.solution.residuals
        self.converged_ &= terms.solution.converged

    def _validate_fit(self, X, y):
        if self.space == "logit" and self.variant != "leverage":
            raise ValueError(
                f"space='logit' applies to variant='leverage' only, but variant is "
                f"{self.variant!r}."
            )
        if self._takes_any_input():
            rows = rows_for_fit(self.estimator, X)
            validate_data(self, X, y, skip_check_array=True)
            X = rows
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        else:
            rows, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                multi_output=True,
            )
            # A frame goes to the model as it is, which so learns its names.
            X = X if hasattr(self, "feature_names_in_") else rows
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=not self._takes_columns())
        type_of_target(y, input_name="y", raise_unknown=True)
        return X, y

    def _takes_any_input(self):
        if self.estimator is None:
            return False
        transformers, model = unwrap(self.estimator)
        return bool(transformers) or is_network(model)

    def _takes_columns(self):
        """Whether the targets of one output are a column to the model itself."""
        model = None if self.estimator is None else unwrap(self.estimator)[1]
        return is_network(model) and not is_classifier(model)

    def _estimator_for(self, y):
        options = NetworkOptions.of(self)
        if self.estimator is not None:
            check_supported(unwrap(self.estimator)[1], options)
            return self.estimator
        model = LogisticRegression(tol=1e-8, max_iter=1000)
        if type_of_target(y, input_name="y").startswith("continuous"):
            model = Ridge()
        check_supported(model, options)
        return model

    def _fit_model(self, estimator, X, y, sample_weight, random_state):
        if self._labels is not None:
            y = self._labels.for_fit(y)
        seed = None
        if self.random_state is not None:
            seed = random_state.randint(np.iinfo(np.int32).max)
        return fit_model(estimator, X, y, sample_weight, seed)

    def _transform(self, estimator, X):
        return rows_of(estimator, X, self)

    def _explain(self, estimator, rows, y, weights, random_state):
        model = unwrap(estimator)[1]
        check_is_fitted(model)
        variance = self.variant == "attack_power"
        try:
            if self._labels is not None:
                options = NetworkOptions.of(self)
                return explain_network(
                    model,
                    self._labels,
                    rows,
                    y,
                    weights,
                    options,
                    random_state,
                    variance=variance,
                )
            if is_classifier(model):
                check_known_classes(y, model.classes_)
            return explain(model, rows, y, weights, variance=variance)
        except NegativeCurvatureError:
            return None

    def _split(self, estimator, X, y):
        """Return the folds, as pairs of training and test rows."""
        if self.cv is None:
            return []
        if not refits(estimator):
            raise ValueError(
                f"cv={self.cv!r} fits the estimator again for each fold, but it is "
                "frozen; pass cv=None, or an estimator that is not."
            )
        check_untrained(estimator)
        classifier = is_classifier(unwrap(estimator)[1])
        return list(check_cv(self.cv, y, classifier=classifier).split(X, y))

    def _cross_fit(self, estimator, X, y, weights, given, splits, random_state, tasks):
        """Scores at models fitted without the record, and the terms they came from."""
        total, times, parts = np.zeros(len(y)), np.zeros(len(y)), []
        for train, test in splits:
            task = tasks.subcontext(task_name="fold")
            task.call_on_fit_task_begin(estimator=self)
            fitted = self._fit_model(
                estimator,
                safe_indexing(X, train),
                y[train],
                None if given is None else given[train],
                random_state,
            )
            train_rows, test_rows = (
                self._transform(fitted, safe_indexing(X, part))
                for part in (train, test)
            )
            model = self._explain(
                fitted, train_rows, y[train], weights[train], random_state
            )
            if is_classifier(fitted) and self._labels is None:
                check_known_classes(y[test], fitted.classes_)
            parts.append(_terms_of(model, test_rows, y[test], weights[test]))
            total[test] += self._score_terms(parts[-1], members=False)
            times[test] += 1
            task.call_on_fit_task_end(estimator=self)
        if (times == 0).any():
            raise ValueError(
                f"cv={self.cv!r} puts {np.sum(times == 0)} of the {len(y)} records "
                "into no test set; each has to be left out at least once."
            )
        return total / times, parts

    def _score_terms(self, terms, members):
        scores = score_of(terms, self.variant, self.space, members)
        return np.where(trusted(terms, self._exact(self.variant)), scores, np.nan)

    def _exact(self, score):
        """Whether the score is that of the optimum wherever the weights are."""
        return score == "leverage" and self._model is not None and self._model.quadratic

    def _record_keys(self, X):
        return _flat(X)

    def _validate_rows(self, X):
        if self._takes_any_input():
            validate_data(self, X, reset=False, skip_check_array=True)
            return self._transform(self.estimator_, X)
        return validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
        )

    def _validate_labels(self, y):
        if self._records.y.ndim == 1:
            y = super()._validate_labels(y)
        else:
            y = check_array(y, dtype=None, input_name="y")
        model = unwrap(self.estimator_)[1]
        if is_classifier(model):
            check_same_kind_of_label(y, self._records.y)
            if self._labels is None:
                check_known_classes(y, model.classes_)
            else:
                self._labels.codes(y)
        return y

    def _score_new_rows(self, X, y):
        terms = _terms_of(self._model, X, y, np.ones(len(y)), self._overall_step)
        warn_of_missing([terms], self._exact(self.variant))
        return self._score_terms(terms, members=False)

    def _score_records(self):
        return self._fit_scores

    def score(self, X, y):
        """Return the score of the model, such as its accuracy, on some rows.

        As in other meta-estimators, it is the score of `estimator_`, by which
        `GridSearchCV` may choose a penalty.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels or targets.

        Returns
        -------
        score : float
            Accuracy for classifiers, R² or D² for regressors.
        """
        check_is_fitted(self)
        rows = self._validate_rows(X)
        if self._labels is None:
            return self.estimator_.score(X, y)
        y = self._labels.for_fit(np.asarray(y))
        return unwrap(self.estimator_)[1].score(rows, y)

    def get_influence(self):
        """Return the classical influence statistics of the training records.

        Returns
        -------
        influence : InfluenceStatistics
            With leverages, studentised residuals and Cook's distances as attributes,
            under the names that they have in statsmodels.

        Raises
        ------
        TypeError
            If the model is not one of least squares, binary logistic regression or
            the Tweedie family.
        """
        check_is_fitted(self)
        if not isinstance(self._model, SeparableModel):
            raise TypeError(
                "influence statistics are defined for least squares, binary logistic "
                f"regression and the Tweedie family, not for {self.estimator_!r}."
            )
        return self._model.influence(self._records.X, self._records.y, self._weights)


def _flat(X):
    """Return rows as vectors of numbers, to tell records apart."""
    if X.ndim > 2 or X.dtype.kind not in "f":
        return X.reshape(len(X), -1).astype(np.float64)
    return X


def _terms_of(model, rows, y, weights, overall=None):
    """Return the terms of rows, with no step below that of the model as a whole.

    The latter is measured on these rows unless it is given.
    """
    if model is None:
        return RecordTerms.unknown(rows.shape[0])
    terms = model.terms(rows, y, weights)
    overall = overall_step(terms) if overall is None else overall
    return replace(terms, step=np.maximum(terms.step, overall))
