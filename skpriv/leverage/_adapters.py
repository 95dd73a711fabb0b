"""Kinds of models behind one interface, and the one place that tells them apart."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from importlib import import_module
from typing import NamedTuple

from sklearn.base import is_classifier

from skpriv.leverage.linear import LINEAR_MODELS
from skpriv.leverage.linear._readers import READERS
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import fit_params_of_last_step, last_step, parts_of
from skpriv.utils._training import recorded_rows, seeded_clone, seeded_torch


@dataclass(frozen=True)
class CurvatureOptions:
    """Parameters of a `GLSScorer` that say how curvature is computed and inverted.

    They are described there.

    Attributes
    ----------
    layers : {"last", "all"}, int or list of str
    solver : {"auto", "direct", "cg", "sketch"}
    curvature : {"ggn", "hessian"}
    damping : "auto" or float
    n_sketches : int
    tol : float
    max_iter : int
    batch_size : "auto" or int
    device : str
    """

    layers: object
    solver: str
    curvature: str
    damping: object
    n_sketches: int
    tol: float
    max_iter: int
    batch_size: object
    device: str

    @classmethod
    def of(cls, scorer):
        """Collect the options among the parameters of a scorer."""
        return cls(*(getattr(scorer, field.name) for field in fields(cls)))


class Fitted(NamedTuple):
    """A fitted estimator, split once into its transformers and its model.

    Attributes
    ----------
    estimator : estimator
        The whole.
    transformers : list of Pipeline
        To be applied in turn.
    model : estimator
        The model at the end.
    """

    estimator: object
    transformers: list
    model: object

    def transform(self, X):
        """Return rows as they come out of the last transformer."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        return X


class Adapter(ABC):
    """Deals with an estimator on behalf of a `GLSScorer`, for one kind of model.

    Methods are called in this order: `rows_for_fit` and `check` once, then `fit` and
    `sensitivities` for all records and again for each fold, whose other records go
    through `rows`. Subclasses implement the abstract methods, and override others
    where their models differ.

    Parameters
    ----------
    estimator : estimator
        As given to the scorer; never changed.
    parts : Parts
        Its transformers and its model.
    options : CurvatureOptions

    Attributes
    ----------
    model : estimator
        The model at the end of `estimator`; fitted only if frozen.
    frozen : bool
        Whether the model is in a `FrozenEstimator`, so that fitting does not change it.
    is_classifier : bool
    has_transformers : bool
        Whether there is a step before the model.
    takes_any_input : bool
        Whether rows may be of any form, so that the scorer must not validate them.
        False for a model that takes a matrix, with nothing before it.
    takes_columns : bool
        Whether one target per record may be given as a column without a warning.
    """

    takes_columns = False

    def __init__(self, estimator, parts, options):
        self.estimator = estimator
        self.model = parts.model
        self.frozen = parts.frozen
        self.options = options
        self.is_classifier = is_classifier(parts.model)
        self.has_transformers = bool(parts.transformers)
        self.takes_any_input = self.has_transformers

    @abstractmethod
    def check(self, y):
        """Raise unless the model, the options and the labels go together.

        It may keep what it learns from the labels, such as how they are encoded.

        Parameters
        ----------
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The labels of all records.

        Raises
        ------
        TypeError
            If the model's loss is not supported.
        ValueError
            If an option, another parameter of the model, or the labels are not.
        """

    def rows_for_fit(self, X):
        """Return rows of any form as ``estimator.fit`` takes them.

        Called only if `takes_any_input`.
        """
        return X

    def fit(self, X, y, sample_weight=None, seed=None):
        """Fit a copy of the estimator, of which a frozen model stays as it is.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame
            As of `rows_for_fit`.
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : ndarray of shape (n_rows,), default=None
            Passed to the model's ``fit`` unless it is None.
        seed : int, default=None
            Seed of all random states, and of torch. None leaves them as they are.

        Returns
        -------
        fitted : Fitted
        rows : {ndarray, sparse matrix} of shape (n_rows, ...)
            The rows that the model was trained on, as of `rows`. ``fit_transform`` of
            some transformers, such as a TargetEncoder, returns other rows than
            ``transform``; the model was trained on the former. If it is frozen, they
            are not known, and the latter are returned.
        """
        copy = seeded_clone(self.estimator, seed)
        records = self.has_transformers and not self.frozen
        recorder = recorded_rows(last_step(copy)) if records else nullcontext([])
        with seeded_torch(seed), recorder as trained_on:
            fitted = self._fit_copy(copy, X, y, sample_weight)
        parts = parts_of(fitted)
        fitted = Fitted(fitted, parts.transformers, parts.model)
        if trained_on:
            return fitted, self.array(fitted, trained_on[-1])
        return fitted, self.rows(fitted, X)

    def _fit_copy(self, copy, X, y, sample_weight):
        params = fit_params_of_last_step(copy, sample_weight=sample_weight)
        return copy.fit(X, y, **params)

    def needs_all_records(self):
        """Tell whether the estimator can be fitted on all records only, not on folds.

        Returns
        -------
        needed : bool
        """
        return False

    def training_weights(self, fitted, y, sample_weight):
        """Return the weights that the records had in the loss that was minimised.

        Parameters
        ----------
        fitted : Fitted
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : ndarray of shape (n_rows,)
            The weights that were passed to ``fit``; all 1 if there were none.

        Returns
        -------
        weights : ndarray of shape (n_rows,)
            These, times those that training itself gives to records.
        """
        return sample_weight

    def rows(self, fitted, X):
        """Return rows as the fitted model sees them, as an array.

        Parameters
        ----------
        fitted : Fitted
        X : array-like, sparse matrix or DataFrame

        Returns
        -------
        rows : {ndarray, sparse matrix} of shape (n_rows, ...)
        """
        return self.array(fitted, fitted.transform(X))

    @abstractmethod
    def array(self, fitted, X):
        """Return rows that have been transformed as an array.

        Parameters
        ----------
        fitted : Fitted
        X : array-like, sparse matrix or DataFrame
            As the model takes them.

        Returns
        -------
        rows : {ndarray, sparse matrix} of shape (n_rows, ...)
        """

    @abstractmethod
    def check_labels(self, fitted, y):
        """Raise a ValueError if a label is none of those that the model knows.

        Parameters
        ----------
        fitted : Fitted
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """

    @abstractmethod
    def sensitivities(
        self, fitted, rows, y, sample_weight, random_state, *, attack_power
    ):
        """Compute the curvature of a fitted model.

        Parameters
        ----------
        fitted : Fitted
        rows : {ndarray, sparse matrix} of shape (n_rows, ...)
            The rows that it was fitted on, as of `fit`.
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Their labels, as given to the scorer.
        sample_weight : ndarray of shape (n_rows,)
            Their weights; all 1 if there were none.
        random_state : numpy.random.RandomState
        attack_power : bool
            Whether terms must include the shift and the variance of each record's
            confidence.

        Returns
        -------
        sensitivities : Sensitivities

        Raises
        ------
        ValueError
            If `y` has a label that the model does not know, or `attack_power` is not
            defined for the model.
        """

    def polish(self, sensitivities, rows, y, sample_weight, *, attack_power):
        """Compute the curvature at the optimum next to the weights of a fitted model.

        Parameters
        ----------
        sensitivities : Sensitivities
            Of the fitted model, as of `sensitivities`, which got these arguments.
        rows, y, sample_weight, attack_power
            As of `sensitivities`; the weights are `training_weights`.

        Returns
        -------
        polished : Sensitivities or None
            None if that is not possible, or not cheap.
        """
        return

    def score(self, fitted, X, y):
        """Return the estimator's own score, such as its accuracy.

        Parameters
        ----------
        fitted : Fitted
        X : array-like, sparse matrix or DataFrame
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)

        Returns
        -------
        score : float
        """
        return fitted.estimator.score(X, y)


class Kind(NamedTuple):
    """A kind of model.

    Attributes
    ----------
    description : str
        Names the models, for messages.
    includes : callable
        Tells whether a model is of this kind.
    adapter : str
        Class of the adapter, as ``"module:class"`` within skpriv.leverage.
    packages : tuple of str, default=()
        Optional packages that the adapter imports.
    """

    description: str
    includes: Callable
    adapter: str
    packages: tuple = ()

    def load(self):
        """Import the adapter."""
        for package in self.packages:
            import_optional(package, extra="torch")
        module, name = self.adapter.split(":")
        return getattr(import_module(f"skpriv.leverage.{module}"), name)


def adapt(estimator, options):
    """Find out what kind of model an estimator is.

    Parameters
    ----------
    estimator : estimator
        A model, a Pipeline that ends in one, or either in a `FrozenEstimator`.
    options : CurvatureOptions

    Returns
    -------
    adapter : Adapter

    Raises
    ------
    TypeError
        If the model is of no supported kind, or a step before it resamples the records.
    ImportError
        If its adapter needs a package that is not installed.
    """
    parts = parts_of(estimator)
    for step in parts.transformers:
        _refuse_resampling(step)
    for kind in KINDS:
        if kind.includes(parts.model):
            return kind.load()(estimator, parts, options)
    supported = ", ".join(kind.description for kind in KINDS)
    raise TypeError(
        f"estimator ends in {parts.model!r}, which is not supported. Supported are "
        f"{supported}, a Pipeline that ends in one of them, and either of these in a "
        "FrozenEstimator."
    )


def _refuse_resampling(pipeline):
    """Raise a TypeError if a step changes which records there are."""
    for _, step in pipeline.steps:
        if hasattr(step, "fit_resample"):
            raise TypeError(
                f"estimator has the step {step!r}, which resamples the records, so "
                "that the model was trained on other rows than those given; these have "
                "no leverage on it. Leave the step out (class_weight or sample_weight "
                "may replace it), or attack the estimator with shadow models."
            )


def _is_linear(model):
    return type(model) in READERS


def _is_instance_of(module, *names):
    """Make a function that tells whether a model is of classes in an optional package.

    The class of an object has been imported by whoever made the object, so a module
    that is not imported yet need not be.
    """

    def includes(model):
        classes = (getattr(sys.modules.get(module), name, ()) for name in names)
        return any(isinstance(model, kind) for kind in classes)

    return includes


# One entry per kind of model. Linear models have a table of their own, READERS.
KINDS = (
    Kind(
        ", ".join(LINEAR_MODELS),
        _is_linear,
        "linear._adapter:LinearAdapter",
    ),
    Kind(
        "skorch's NeuralNetClassifier, NeuralNetBinaryClassifier and "
        "NeuralNetRegressor",
        _is_instance_of("skorch.net", "NeuralNet"),
        "network._adapter:SkorchAdapter",
        packages=("torch", "skorch"),
    ),
    Kind(
        "MLPClassifier, MLPRegressor",
        _is_instance_of("sklearn.neural_network", "MLPClassifier", "MLPRegressor"),
        "network._adapter:PerceptronAdapter",
        packages=("torch", "skorch"),
    ),
)
