"""The leverage of each training record on a model's own predictions."""

from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv._records import same_rows
from skpriv.base import RecordScorerMixin
from skpriv.leverage._adapters import CurvatureOptions, adapt
from skpriv.leverage._scores import (
    assess,
    has_converged,
    has_nearly_converged,
    is_valid,
    score_of,
    warn_of_missing,
)
from skpriv.utils._checks import check_no_dates, check_rows_can_be_read
from skpriv.utils._labels import check_no_label_is_missing, check_same_kind_of_label
from skpriv.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    safe_indexing,
)
from skpriv.utils._text import count
from skpriv.utils._training import check_untrained, draw_seeds

# The models of estimator=None, by the kind of target.
_DISCRETE = LogisticRegression(tol=1e-8, max_iter=1000)
_CONTINUOUS = Ridge()
# How a matrix of features is validated.
_MATRIX = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class TrainingSet(NamedTuple):
    """Records that a model is fitted on.

    Attributes
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_records, ...)
    y : ndarray of shape (n_records,) or (n_records, n_outputs)
    weights : ndarray of shape (n_records,)
    weighted : bool
        Whether weights were given, and are passed to the model; else they are all 1.
    """

    X: object
    y: np.ndarray
    weights: np.ndarray
    weighted: bool

    def select(self, records):
        """Return some of the records, given by their positions."""
        X = safe_indexing(self.X, records)
        return TrainingSet(X, self.y[records], self.weights[records], self.weighted)


class GLSScorer(RecordScorerMixin, CallbackSupportMixin, BaseEstimator):
    """Score records by how strongly their own labels affect the model's predictions.

    The generalised leverage score (GLS) of a record is the sensitivity of the model's
    prediction for it to its own label: the trace of ∂p(x_i)/∂y_i, the model being
    refitted. It is the diagonal of the hat matrix for least squares, and Pregibon's
    leverage for logistic regression. It is computed without refitting: by the implicit
    function theorem it is Tr(Λ_i J_i H⁻¹ J_iᵀ), with J_i the derivative of the record's
    logits in the parameters, Λ_i the curvature of its loss in the logits, and H the
    Hessian of the whole objective, including the penalty.

    Parameters
    ----------
    estimator : estimator, default=None
        The model: one of scikit-learn's linear models that minimise a smooth loss, as
        listed in the user guide; a NeuralNetClassifier, NeuralNetBinaryClassifier or
        NeuralNetRegressor of skorch, with CrossEntropyLoss, NLLLoss, BCEWithLogitsLoss
        or MSELoss; an MLPClassifier or MLPRegressor; a Pipeline that ends in one of
        these; or one that is already fitted, in a `FrozenEstimator`. A frozen model
        must have been fitted on the rows, and with the sample weights, that are passed
        to ``fit``. None uses a LogisticRegression with a small `tol` if the target is
        discrete, and else a Ridge.
    variant : {"leverage", "self_influence", "attack_power"}, default="leverage"
        The score.

        - "leverage": the GLS.
        - "self_influence": the first-order increase of a record's loss when it is
          removed.
        - "attack_power": the predicted success rate, between 0.5 and 1, of a
          likelihood ratio attack (LiRA) on the record, without a shadow model. For
          linear models of one output, and for classifiers that fit all probabilities
          in one loss.
    space : {"probability", "logit"}, default="probability"
        Whether leverage is that on the prediction (probabilities, the mean of a
        generalised linear model) or on the logit (the linear predictor), relative to
        the mean logit if each class has one. "logit" requires ``variant="leverage"``.
    layers : "last", "all", int or list of str, default="last"
        For networks: which parameters may change when a label changes: the last
        layer's, the last n layers', all, or those whose names have one of these
        prefixes.
    solver : {"auto", "direct", "cg", "sketch"}, default="auto"
        For networks.

        - "direct": one Cholesky factorisation of the curvature, exact.
        - "cg": conjugate gradients for each record, to the residual `tol`.
        - "sketch": all training records by `n_sketches` solves, with a relative error
          of about ``sqrt(2 / n_sketches)``.
        - "auto": the one with the fewest operations; "sketch" only if it needs less
          than a fifth of those of the others, "direct" only if it fits into free
          memory.
    curvature : {"ggn", "hessian"}, default="ggn"
        For networks: the generalised Gauss-Newton matrix, which is never negative, or
        the Hessian itself.
    damping : "auto" or float, default="auto"
        For networks: the λ of a penalty λ ‖θ‖²/2 that is added to the mean loss. "auto"
        is the optimiser's weight decay or the perceptron's `alpha`, or a thousandth of
        the mean curvature if there is neither; for the sketch more, if its systems
        could hardly be solved with so little.
    cv : int, cross-validation splitter or iterable, default=None
        Folds. Each training record is scored as a new record by the models of the
        folds that held it out, and the scores are averaged if there are several. None
        scores all records at the model fitted on all of them.
    n_sketches : int, default=128
        Number of systems that the sketch solves; with "attack_power" three times that.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop; below 1.
    max_iter : int, default=1000
        Maximum number of iterations of conjugate gradients.
    batch_size : "auto" or int, default="auto"
        For networks: number of records that are processed at once; "auto": as many as
        fit into a part of the free memory.
    device : str, default="auto"
        For networks: where to compute, such as "cpu" or "cuda"; "auto": where the
        network is.
    random_state : int, RandomState instance or None, default=None
        Controls the sketch and, unless it is None, all random states of the estimator,
        and torch's, before it is fitted. Pass an int for reproducible scores.

    Attributes
    ----------
    estimator_ : estimator
        The model, fitted on all rows.
    scores_ : ndarray of shape (n_samples,)
        Scores of the training records, in training order; higher: more exposed.
    effective_parameters_ : float
        Sum of the training records' leverages on the prediction at `estimator_`: the
        number of parameters without a penalty, less with one. Gamma and Tweedie
        regression with a log link, which is not their canonical one, are exceptions:
        their sum may be less or more than that.
    solver_ : {"direct", "cg", "sketch"}
        The solver that was used.
    damping_ : float or dict of str to float
        The damping, by name of the parameter if it differs between them. For networks.
    n_polish_steps_ : int
        Number of Newton steps by which a copy of a linear model's weights was brought
        to the optimum, because the model had converged as a whole but not for every
        record. All scores are then those of the polished weights; `estimator_` keeps
        its own. 0 if that was not needed.
    n_iter_ : ndarray of int, of shape (n_samples,)
        Number of iterations for each training record's score: 1 for a direct solution,
        and the largest number of all systems for the sketch.
    residuals_ : ndarray of shape (n_samples,)
        Relative residual that remained; 0 for a direct solution.
    newton_step_ : ndarray of shape (n_samples,)
        Size of the remaining Newton step in the record's logit (in standard deviations
        of the target for squared losses), at least the leverage-weighted median; about
        the score's relative error. For linear models; networks are scored at the
        weights that they have.
    converged_ : ndarray of bool, of shape (n_samples,)
        Whether `newton_step_` is at most 0.1; for networks, whether the record's
        systems were solved without meeting negative curvature.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if `X` had any.

    Warns
    -----
    ConvergenceWarning
        If scores are NaN, because the model is not at an optimum, or has none
        (separable classes without a penalty), or the prediction for a row is not
        estimable, or conjugate gradients ended too early or met negative curvature.
        The warning says how many, and why.

    See Also
    --------
    skpriv.leverage.gaussian : What a leverage means for an attack.

    Notes
    -----
    Sample weights multiply a record's loss, and hence its leverage. The weights that
    ``class_weight="balanced"`` sets are held fixed. With an L1 penalty or
    ``positive=True``, weights at zero stay there (the active set); scores hold for
    changes of a label that are too small to change that set.

    Attack power compares, to first order, a record's confidence at models fitted on
    random halves of the data with it and without it: the gap of the means relative to
    the standard deviation on either side. If the penalty is added to the *sum* of
    losses, a half-sample model is fitted with all of it; if it is added to their mean,
    like a network's weight decay, it is halved with the data. The record's own
    contribution to the variance is not counted as noise.

    Leverages of multi-output least squares are averaged over the outputs, so that they
    are the diagonal of the hat matrix again.

    Networks are scored in evaluation mode (no dropout, batch norms with their running
    statistics), in double precision. Rows that skorch's `train_split` holds out count
    as training records; pass ``train_split=None``. Integer labels from 0 on are the
    numbers of a net's outputs; others are numbered in sorted order. A network that
    fits its training labels closely has little curvature left there, so in-sample
    scores are small where it memorises most; scores by `cv` are not.

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

    @property
    def cross_fitted(self):
        """Whether training records are scored at models fitted without them."""
        return self.cv is not None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(_CONTINUOUS if self.estimator is None else self.estimator)
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
            The training rows, in any form that the estimator takes.
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
            If the model, or its loss, is not supported.
        ValueError
            If a parameter does not apply to the model, or `cv` is given for a frozen
            model.
        ImportError
            If the model is a network and torch or skorch is not installed.
        """
        records = self._validate_fit(X, y, sample_weight)
        random_state = check_random_state(self.random_state)
        folds = self._split(records)
        progress = self._init_callback_context(max_subtasks=len(folds))
        progress.call_on_fit_task_begin(estimator=self, X=records.X, y=records.y)

        self._fitted, rows, self._sensitivities = self._fit_on(records, random_state)
        self.estimator_ = self._fitted.estimator
        weights = self._adapter.training_weights(
            self._fitted, records.y, records.weights
        )
        self._sensitivities, terms = self._assessed_terms(
            self._sensitivities, (rows, records.y, weights), (rows, records.y, weights)
        )
        if self.cv is None:
            scores, status = self._scores_of(terms, members=True), terms.status
        else:
            scores, status = self._cross_fit(records, folds, random_state, progress)

        warn_of_missing(status, at_any_weights=self._holds_at_any_weights())
        self._remember_records(self._known_rows(records.X, rows), records.y)
        self._training_rows = rows
        self._fit_scores, self._weights = scores, weights
        self._report(terms)
        progress.call_on_fit_task_end(estimator=self, X=records.X, y=records.y)
        return self

    def _validate_fit(self, X, y, sample_weight):
        """Find the adapter of the model, and return the validated records."""
        if self.space == "logit" and self.variant != "leverage":
            raise ValueError(
                f"space='logit' applies to variant='leverage' only, but variant is "
                f"{self.variant!r}."
            )
        options = CurvatureOptions.of(self)
        given = self.estimator is not None
        self._adapter = adapt(self.estimator if given else _DISCRETE, options)
        X, y = self._validate_records(X, y)
        if not given and type_of_target(y).startswith("continuous"):
            self._adapter = adapt(_CONTINUOUS, options)
        weights = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        self._adapter.check(y)
        return TrainingSet(X, y, weights, sample_weight is not None)

    def _validate_records(self, X, y):
        check_no_label_is_missing(y)
        check_rows_can_be_read(X)
        if self._adapter.takes_any_input:
            rows = self._adapter.rows_for_fit(X)
            validate_data(self, X, y, skip_check_array=True)
            X = rows
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        else:
            check_no_dates(X)
            rows, y = validate_data(self, X, y, multi_output=True, **_MATRIX)
            # A frame is passed to the model as it is, so that it learns its names.
            X = X if hasattr(self, "feature_names_in_") else rows
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=not self._adapter.takes_columns)
        type_of_target(y, input_name="y", raise_unknown=True)
        return X, y

    def _split(self, records):
        """Return the folds, as pairs of training and test records."""
        if self.cv is None:
            return []
        if self._adapter.frozen:
            raise ValueError(
                f"cv={self.cv!r} fits the estimator again for each fold, but it is "
                "frozen; pass cv=None, or an estimator that is not frozen."
            )
        if self._adapter.needs_all_records():
            raise ValueError(
                f"cv={self.cv!r} fits the estimator on a part of the records, but its "
                "sampler was made for all of them; pass cv=None."
            )
        check_untrained(self._adapter.estimator)
        splitter = check_cv(self.cv, records.y, classifier=self._adapter.is_classifier)
        return list(splitter.split(records.X, records.y))

    def _fit_on(self, records, random_state):
        """Fit the model on records, and compute its sensitivities."""
        X, y, weights, weighted = records
        seed = None
        if self.random_state is not None:
            (seed,) = draw_seeds(1, random_state)
        fitted, rows = self._adapter.fit(X, y, weights if weighted else None, seed)
        check_is_fitted(fitted.model)
        sensitivities = self._adapter.sensitivities(
            fitted,
            rows,
            y,
            weights,
            random_state,
            attack_power=self.variant == "attack_power",
        )
        return fitted, rows, sensitivities

    def _known_rows(self, X, rows):
        """Return the training rows as they will be transformed if they are met again.

        Usually they are the `rows` that the model was trained on, of which one copy is
        enough.
        """
        transformed = self._adapter.rows(self._fitted, X)
        return rows if same_rows(transformed, rows) else transformed

    def _assessed_terms(self, sensitivities, trained_on, records):
        """Return the terms of records, at polished weights if they are needed.

        Parameters
        ----------
        sensitivities : Sensitivities
        trained_on, records : tuple of (rows, y, weights)
            The records that the model was trained on, and those to be scored.

        Returns
        -------
        sensitivities : Sensitivities
            Of the model, or of its polished weights.
        terms : RecordTerms
        """
        terms = assess(sensitivities.terms(*records))
        if has_nearly_converged(terms):
            polished = self._adapter.polish(
                sensitivities,
                *trained_on,
                attack_power=self.variant == "attack_power",
            )
            if polished is not None:
                return polished, assess(polished.terms(*records))
        return sensitivities, terms

    def _cross_fit(self, records, folds, random_state, progress):
        """Return scores at models fitted without the record, and each one's status."""
        n_records = len(records.y)
        total, times, statuses = np.zeros(n_records), np.zeros(n_records), []
        for train, test in folds:
            task = progress.subcontext(task_name="fold")
            task.call_on_fit_task_begin(estimator=self)
            members = records.select(train)
            fitted, known, sensitivities = self._fit_on(members, random_state)
            trained_with = self._adapter.training_weights(
                fitted, members.y, members.weights
            )
            X, y, weights, _ = records.select(test)
            rows = self._adapter.rows(fitted, X)
            self._adapter.check_labels(fitted, y)
            _, terms = self._assessed_terms(
                sensitivities, (known, members.y, trained_with), (rows, y, weights)
            )
            total[test] += self._scores_of(terms, members=False)
            times[test] += 1
            statuses.append(terms.status)
            task.call_on_fit_task_end(estimator=self)
        if (times == 0).any():
            raise ValueError(
                f"cv={self.cv!r} puts {np.sum(times == 0)} of "
                f"{count(n_records, 'record')} into no test set; each record must be "
                "left out at least once."
            )
        return total / times, np.concatenate(statuses)

    def _scores_of(self, terms, members):
        scores = score_of(terms, self.variant, self.space, members)
        valid = is_valid(terms.status, at_any_weights=self._holds_at_any_weights())
        return np.where(valid, scores, np.nan)

    def _holds_at_any_weights(self):
        """Tell whether scores are the same whether or not the model has converged."""
        return self.variant == "leverage" and self._sensitivities.quadratic

    def _report(self, terms):
        """Set the attributes about the model fitted on all rows."""
        sensitivities = self._sensitivities
        valid = is_valid(terms.status, at_any_weights=sensitivities.quadratic)
        leverage = np.where(valid, terms.leverage, np.nan)
        self.effective_parameters_ = float(leverage.sum())
        self.converged_ = has_converged(terms.status)
        self.solver_ = sensitivities.solver
        self.n_polish_steps_ = sensitivities.n_polish_steps
        n_records = len(leverage)
        self.n_iter_, self.residuals_ = terms.n_iter, terms.residuals
        if terms.n_iter is None:
            self.n_iter_ = np.ones(n_records, dtype=int)
            self.residuals_ = np.zeros(n_records)
        if sensitivities.damping is not None:
            self.damping_ = sensitivities.damping
        self._model_step = None
        if terms.newton_step is not None:
            self.newton_step_ = terms.newton_step
            # The smallest step of all is that of the model.
            self._model_step = np.fmin.reduce(terms.newton_step, initial=np.inf)

    def _record_keys(self, X):
        """Return rows as vectors of numbers."""
        if X.ndim > 2 or X.dtype.kind not in "f":
            return X.reshape(len(X), -1).astype(np.float64)
        return X

    def _validate_rows(self, X):
        check_rows_can_be_read(X)
        if self._adapter.takes_any_input:
            validate_data(self, X, reset=False, skip_check_array=True)
            return self._adapter.rows(self._fitted, X)
        return validate_data(self, X, reset=False, **_MATRIX)

    def _validate_labels(self, y):
        if self._records.y.ndim == 1:
            y = super()._validate_labels(y)
        else:
            y = check_array(y, dtype=None, input_name="y")
        if self._adapter.is_classifier:
            check_same_kind_of_label(y, self._records.y)
            self._adapter.check_labels(self._fitted, y)
        return y

    def _score_new_rows(self, X, y):
        terms = self._sensitivities.terms(X, y, np.ones(len(y)))
        terms = assess(terms, self._model_step)
        warn_of_missing(terms.status, at_any_weights=self._holds_at_any_weights())
        return self._scores_of(terms, members=False)

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
        validate_data(self, X, reset=False, skip_check_array=True)
        return self._adapter.score(self._fitted, X, y)

    def get_influence(self):
        """Return the classical influence statistics of the training records.

        Returns
        -------
        influence : InfluenceStatistics
            Leverages, studentised residuals and Cook's distances, as attributes named
            as in statsmodels.

        Raises
        ------
        TypeError
            If the model is not one of least squares, binary logistic regression or
            the Tweedie family.
        """
        check_is_fitted(self)
        influence = self._sensitivities.influence(
            self._training_rows, self._records.y, self._weights
        )
        if influence is None:
            raise TypeError(
                "influence statistics are defined for least squares, binary logistic "
                f"regression and the Tweedie family, not for {self.estimator_!r}."
            )
        return influence
