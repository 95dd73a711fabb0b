"""One place tells kinds of models apart, and a new model is one line in a table."""

import subprocess
import sys

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv import GLSScorer
from skpriv.leverage import _adapters
from skpriv.leverage._adapters import KINDS, CurvatureOptions, adapt
from skpriv.leverage.linear import LINEAR_MODELS
from skpriv.leverage.linear._losses import ExponentialFamily
from skpriv.leverage.linear._readers import READERS, _regression, read_least_squares


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture
def walks(monkeypatch):
    """Estimators whose Pipelines were walked down."""
    seen, split = [], _adapters.parts_of

    def spy(estimator):
        seen.append(estimator)
        return split(estimator)

    monkeypatch.setattr(_adapters, "parts_of", spy)
    return seen


@pytest.fixture
def questions(monkeypatch):
    """Models that were asked of which kind they are, once per kind."""
    seen = []

    def spy(kind):
        def includes(model):
            seen.append((kind.description, model))
            return kind.includes(model)

        return kind._replace(includes=includes)

    monkeypatch.setattr(_adapters, "KINDS", tuple(map(spy, KINDS)))
    return seen


@pytest.mark.parametrize("cv", [None, 3])
def test_each_pipeline_is_walked_down_once_and_its_kind_asked_once(
    walks, questions, cv
):
    X, y = load_breast_cancer(return_X_y=True)
    steps = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-6))
    scorer = GLSScorer(steps, cv=cv).fit(X, y)
    # The one that was given, the copy of it fitted on all rows, and one per fold.
    assert len(walks) == 2 + (cv or 0)
    assert walks[:2] == [steps, scorer.estimator_]
    assert len(questions) == 1
    scorer.score_samples(X[:3] + 1, y[:3])
    scorer.score(X, y)
    assert len(walks) == 2 + (cv or 0)
    assert len(questions) == 1


def test_a_linear_model_is_scored_without_torch():
    code = (
        "import sys; from sklearn.datasets import load_iris; import skpriv; "
        "skpriv.GLSScorer().fit(*load_iris(return_X_y=True)); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Relabelled(Ridge):
    """A linear model that is not supported: a subclass may minimise something else."""


def test_a_new_linear_model_is_one_line_in_a_table(monkeypatch, diabetes):
    with pytest.raises(TypeError, match="Relabelled"):
        GLSScorer(Relabelled()).fit(*diabetes)
    monkeypatch.setitem(READERS, Relabelled, read_least_squares)
    found = GLSScorer(Relabelled(alpha=0.5)).fit(*diabetes).scores_
    assert_array_equal(found, GLSScorer(Ridge(alpha=0.5)).fit(*diabetes).scores_)


class Counts(PoissonRegressor):
    """A model with a loss of its own."""


class PoissonDeviance(ExponentialFamily):
    """Half the Poisson deviance, with mean f² (square root link)."""

    dispersion = 1.0

    def mean(self, f):
        return f**2

    def variance(self, mean):
        return mean

    def inverse_link_derivative(self, f):
        return 2 * f

    def curvature(self, y, f):
        return 2 + 2 * y / f**2


def test_a_new_loss_is_one_class(monkeypatch, diabetes):
    # At a model without features the leverage of each of n records is 1 / n, whatever
    # the link.
    X, y = diabetes

    def read(estimator, X, y, sample_weight):
        estimator.intercept_ = y.mean() ** 0.5
        return _regression(estimator, PoissonDeviance(), l2=1e12)

    monkeypatch.setitem(READERS, Counts, read)
    model = Counts().fit(X, y)
    model.coef_ *= 0
    scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert_allclose(scorer.scores_, 1 / len(y), rtol=1e-6)
    assert_allclose(scorer.get_influence().hat_matrix_diag.sum(), 1, rtol=1e-6)


def test_an_unknown_model_is_told_what_is_supported():
    class Other(BaseEstimator):
        pass

    options = CurvatureOptions.of(GLSScorer())
    with pytest.raises(TypeError) as error:
        adapt(make_pipeline(StandardScaler(), Other()), options)
    for name in (*LINEAR_MODELS, "MLPClassifier", "NeuralNetRegressor", "Other()"):
        assert name in str(error.value)
