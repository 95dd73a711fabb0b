"""A cache never gives stale or damaged numbers, and a killed run resumes from it."""

import importlib
import json
import linecache
import os
import subprocess
import sys

import numpy as np
import pytest
import resuming
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from scipy.stats import loguniform, randint, rv_discrete, uniform
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack
from skpriv.attacks._shadows._cache import ShadowCache
from skpriv.attacks._shadows._fingerprint import describe_rows, fingerprint
from skpriv.attacks._shadows._training import FinishedShadow

X, Y = load_iris(return_X_y=True)


def _attack(folder, estimator=None, **parameters):
    estimator = estimator or DecisionTreeClassifier(max_depth=2)
    parameters = {"n_shadows": 6, "random_state": 0, **parameters}
    return LiRAAttack(estimator, cache_dir=folder, **parameters)


def test_cached_shadows_give_the_same_numbers_and_are_not_trained(
    tmp_path, monkeypatch
):
    plain = _attack(None).fit(X, Y)
    first = _attack(tmp_path).fit(X, Y)
    monkeypatch.setattr("skpriv.attacks._shadows._training.train_shadow", None)
    again = _attack(tmp_path).fit(X, Y)
    for attack in (first, again):
        for name in ("signals_", "saturated_", "attack_success_", "scores_"):
            assert_array_equal(getattr(attack, name), getattr(plain, name))


def test_scoring_parameters_may_change_on_the_same_shadows(tmp_path):
    _attack(tmp_path).fit(X, Y)
    other = _attack(tmp_path, mode="offline", variance="record").fit(X, Y)
    assert np.isfinite(other.scores_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"random_state": 1}, r"random_state \(was 0, is 1\)"),
        ({"n_shadows": 8}, r"n_shadows \(was 6, is 8\)"),
        ({"signal": "loss"}, "signal"),
        ({"smoothing": 2.0}, "smoothing"),
        ({"augmentations": 0.1}, "augmentations"),
        (
            {"estimator": DecisionTreeClassifier(max_depth=3)},
            r"estimator__max_depth \(was 2, is 3\)",
        ),
        (
            {"estimator": LogisticRegression(max_iter=1000)},
            r"estimator \(was sklearn\.tree",
        ),
    ],
)
def test_changed_parameter_is_named(tmp_path, parameters, message):
    _attack(tmp_path).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        _attack(tmp_path, **parameters).fit(X, Y)


def test_changed_parameter_of_a_step_is_named(tmp_path):
    def pipeline(strength, func=np.log1p):
        return make_pipeline(
            FunctionTransformer(func), StandardScaler(), LogisticRegression(C=strength)
        )

    _attack(tmp_path, pipeline(1.0)).fit(X, Y)
    _attack(tmp_path, pipeline(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="estimator__logisticregression__C"):
        _attack(tmp_path, pipeline(2.0)).fit(X, Y)
    with pytest.raises(ValueError, match="functiontransformer__func"):
        _attack(tmp_path, pipeline(1.0, np.sqrt)).fit(X, Y)


def _import_edited(folder, source):
    """Write a module, and import what it calls `func`."""
    (folder / "edited.py").write_text(source)
    sys.modules.pop("edited", None)
    importlib.invalidate_caches()
    return importlib.import_module("edited").func


_DECORATED = (
    "import functools\n"
    "def decorate(function, power):\n"
    "    @functools.wraps(function)\n"
    "    def wrapper(X): return function(X) ** power\n"
    "    return wrapper\n"
    "def func(X): return X + 1\n"
    "func = decorate(func, {})"
)
_PARTIAL = (
    "from functools import partial\n"
    "def helper(X, n): return X * n * {}\n"
    "func = partial(helper, n=2)"
)
_OBJECT = "class Scaler:\n    def __call__(self, X): return X * {}\nfunc = Scaler()"
_METHOD = (
    "class Scaler:\n    def by(self): return {}\n"
    "    def scale(self, X): return X * self.by()\nfunc = Scaler().scale"
)
_OWN = (
    "from sklearn.tree import DecisionTreeClassifier as Tree\n"
    "class func(Tree):\n    def fit(self, X, y): return super().fit(X * {}, y)"
)
_BASE = _OWN.replace("func", "Base") + "\nclass func(Base): pass"


@pytest.mark.parametrize(
    "source",
    [
        "def func(X): return X * {}",
        "def func(X, a={}): return X * a",
        "A = {}\ndef func(X): return X * A",
        "def helper(X): return X * {}\ndef func(X): return helper(X)",
        _DECORATED,
        _PARTIAL,
        _OBJECT,
        _METHOD,
        _OWN,
        _BASE,
    ],
    ids=[
        *("code", "default", "constant", "helper", "decorator"),
        *("partial", "object", "method", "class", "base"),
    ],
)
def test_an_edited_function_or_class_is_told_from_what_it_was(
    tmp_path, monkeypatch, source
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    described = []
    for value in (1, 1, 2):
        func = _import_edited(tmp_path, source.format(value))
        own = isinstance(func, type) and issubclass(func, DecisionTreeClassifier)
        estimator = func() if own else FunctionTransformer(func)
        described.append(fingerprint(X, Y, estimator))
    assert described[0] == described[1] != described[2]
    monkeypatch.delitem(sys.modules, "edited")


def _search(estimator, **distributions):
    return RandomizedSearchCV(estimator, distributions, n_iter=1, cv=2)


def test_another_process_resumes_a_search_but_not_after_an_edit(tmp_path, monkeypatch):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from edited import func\n"
        "from scipy.stats import randint\n"
        "from sklearn.datasets import load_iris\n"
        "from sklearn.model_selection import RandomizedSearchCV\n"
        "from skpriv import LiRAAttack\n"
        "search = RandomizedSearchCV(func(), {'max_depth': randint(1, 4)},\n"
        "                            n_iter=1, cv=2)\n"
        "attack = LiRAAttack(search, n_shadows=6, random_state=0,\n"
        "                    cache_dir=sys.argv[1] + '/cache')\n"
        "attack.fit(*load_iris(return_X_y=True))"
    )

    def resumed_in_another_process(hash_seed):
        return subprocess.run(
            [sys.executable, "-B", "-c", code, tmp_path],
            # It differs from ours, so that no order of a set is the same by chance.
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    search = _search(
        _import_edited(tmp_path, _BASE.format(1))(), max_depth=randint(1, 4)
    )
    _attack(tmp_path / "cache", search).fit(X, Y)
    monkeypatch.delitem(sys.modules, "edited")
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    same = resumed_in_another_process(hash_seed)
    assert not same.returncode, same.stderr
    (tmp_path / "edited.py").write_text(_BASE.format(2))
    changed = resumed_in_another_process(hash_seed)
    assert "created with other settings. Changed: estimator" in changed.stderr


def test_distributions_are_described_by_their_parameters_alone():
    def describe(low, probability):
        # In another process, numpy's random state would differ as well.
        np.random.random()  # noqa: NPY002
        values = [1, 2], [probability, 1 - probability]
        search = _search(
            DecisionTreeClassifier(),
            ccp_alpha=loguniform(low, 0.1),
            max_depth=randint(1, 4),
            max_features=uniform,
            min_samples_leaf=rv_discrete(values=values),
        )
        return fingerprint(X, Y, search)

    described = describe(1e-4, 0.5)
    assert describe(1e-4, 0.5) == described
    assert describe(1e-3, 0.5) != described != describe(1e-4, 0.6)


@pytest.mark.parametrize("package", ["skpriv", "scikit-learn", "numpy"])
def test_another_version_is_refused(tmp_path, package):
    _attack(tmp_path).fit(X, Y)
    manifest = tmp_path / "manifest.json"
    content = json.loads(manifest.read_text())
    assert set(content["versions"]) == {"skpriv", "scikit-learn", "numpy"}
    content["versions"][package] = "0.0.1"
    manifest.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=rf"created with {package} 0\.0\.1 \(now "):
        _attack(tmp_path).fit(X, Y)


def test_ufuncs_are_told_from_one_another(tmp_path):
    def pipeline(func):
        return make_pipeline(FunctionTransformer(func), DecisionTreeClassifier())

    _attack(tmp_path, pipeline(np.sin)).fit(X, Y)
    _attack(tmp_path, pipeline(np.sin)).fit(X, Y)
    with pytest.raises(ValueError, match="functiontransformer__func"):
        _attack(tmp_path, pipeline(np.cos)).fit(X, Y)


def test_a_fitted_transformer_that_is_frozen_is_told_from_another(tmp_path):
    def pipeline(rows):
        scaler = FrozenEstimator(StandardScaler().fit(rows))
        return make_pipeline(scaler, DecisionTreeClassifier())

    _attack(tmp_path, pipeline(X)).fit(X, Y)
    _attack(tmp_path, pipeline(X)).fit(X, Y)
    with pytest.raises(ValueError, match="frozenestimator"):
        _attack(tmp_path, pipeline(X + 1)).fit(X, Y)


def test_layout_in_memory_is_no_change():
    for rows in (X, X[:, :1]):
        wide = np.repeat(rows, 2, axis=1)[:, ::2]
        same = (np.asfortranarray(rows), wide, np.ascontiguousarray(rows))
        assert all(describe_rows(other) == describe_rows(rows) for other in same)


def test_changed_rows_are_named(tmp_path):
    _attack(tmp_path).fit(X, Y)
    changed = X.copy()
    changed[[17, 90], 2] += 1e-9
    with pytest.raises(ValueError, match=r"X \(rows 17, 90\)"):
        _attack(tmp_path).fit(changed, Y)
    labels = Y.copy()
    labels[3] = 2
    with pytest.raises(ValueError, match=r"y \(rows 3\)"):
        _attack(tmp_path).fit(X, labels)
    with pytest.raises(ValueError, match=r"its shape was 150 x 4, and is 149 x 4"):
        _attack(tmp_path).fit(X[1:], Y[1:])


def test_changed_row_of_a_sparse_matrix_or_frame_is_named(tmp_path):
    pd = pytest.importorskip("pandas")
    for name, make in (("sparse", sp.csr_array), ("frame", pd.DataFrame)):
        folder = tmp_path / name
        _attack(folder).fit(make(X), Y)
        changed = X.copy()
        changed[5, 1] = 9
        with pytest.raises(ValueError, match=r"X \(rows 5\)"):
            _attack(folder).fit(make(changed), Y)


def test_damaged_file_is_named_and_trained_again(tmp_path):
    expected = _attack(tmp_path).fit(X, Y).signals_
    path = tmp_path / "shadow-00003.npz"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"nonsense"):
        path.write_bytes(content)
        with pytest.warns(UserWarning, match=r"shadow-00003.npz is damaged"):
            signals = _attack(tmp_path).fit(X, Y).signals_
        assert_array_equal(signals, expected)


def test_array_in_place_of_a_file_is_named_and_trained_again(tmp_path):
    expected = _attack(tmp_path).fit(X, Y).signals_
    with (tmp_path / "shadow-00003.npz").open("wb") as file:
        np.save(file, expected[3])
    with pytest.warns(UserWarning, match=r"shadow-00003.npz is damaged"):
        signals = _attack(tmp_path).fit(X, Y).signals_
    assert_array_equal(signals, expected)


def test_folder_in_place_of_a_file_is_named_and_moved_aside(tmp_path):
    expected = _attack(tmp_path).fit(X, Y).signals_
    path = tmp_path / "shadow-00003.npz"
    path.unlink()
    path.mkdir()
    (path / "kept").write_text("wanted")
    with pytest.warns(UserWarning, match=r"shadow-00003.npz is damaged"):
        signals = _attack(tmp_path).fit(X, Y).signals_
    assert_array_equal(signals, expected)
    assert path.is_file()
    (kept,) = tmp_path.glob("aside-*/shadow-00003.npz/kept")
    assert kept.read_text() == "wanted"


def test_no_changed_byte_is_read_or_ends_in_another_error(tmp_path):
    members = np.arange(16) % 2 == 0
    signals = np.arange(16, dtype=np.float32)
    cache = ShadowCache(tmp_path, {}, {})
    cache.save(FinishedShadow(0, signals, members), members)
    path = tmp_path / "shadow-00000.npz"
    whole = path.read_bytes()
    assert_array_equal(cache.load(0, members).signals, signals)
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 + position % 255
        path.write_bytes(changed)
        with pytest.warns(UserWarning, match="is damaged"):
            assert cache.load(0, members) is None


@pytest.mark.parametrize("n_lost", [1, 4, 5, 100])
def test_a_cut_off_file_is_trained_again(tmp_path, n_lost):
    expected = _attack(tmp_path).fit(X, Y).signals_
    path = tmp_path / "shadow-00001.npz"
    path.write_bytes(path.read_bytes()[:-n_lost])
    with pytest.warns(UserWarning, match=r"shadow-00001.npz is damaged"):
        assert_array_equal(_attack(tmp_path).fit(X, Y).signals_, expected)


def test_flipped_bit_is_never_read_as_numbers(tmp_path):
    expected = _attack(tmp_path).fit(X, Y).signals_
    path = tmp_path / "shadow-00002.npz"
    whole = bytearray(path.read_bytes())
    place = bytes(whole).index(expected[2].tobytes())
    whole[place + 5] ^= 1
    path.write_bytes(whole)
    with pytest.warns(UserWarning, match=r"shadow-00002.npz is damaged"):
        signals = _attack(tmp_path).fit(X, Y).signals_
    assert_array_equal(signals, expected)


def test_file_of_another_run_is_refused(tmp_path):
    _attack(tmp_path / "a").fit(X, Y)
    _attack(tmp_path / "b", random_state=1).fit(X, Y)
    foreign = (tmp_path / "b" / "shadow-00001.npz").read_bytes()
    (tmp_path / "a" / "shadow-00001.npz").write_bytes(foreign)
    with pytest.raises(ValueError, match=r"shadow-00001.npz belongs to another run"):
        _attack(tmp_path / "a").fit(X, Y)


def test_file_under_another_number_is_refused(tmp_path):
    _attack(tmp_path).fit(X, Y)
    (tmp_path / "shadow-00001.npz").write_bytes(
        (tmp_path / "shadow-00003.npz").read_bytes()
    )
    with pytest.raises(ValueError, match=r"shadow-00001.npz belongs to another run"):
        _attack(tmp_path).fit(X, Y)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": "other"}',
        *(
            f'{{"format": "skpriv shadows 2", "versions": {{}}, '
            f'"fingerprint": {known}}}'
            for known in (
                "[]",
                "{}",
                '{"X": 1, "y": 2}',
                '{"X": "a", "y": "b"}',
                '{"X": {"shape": [150, 4], "hash": "0", "checksums": "AAA="}}',
                '{"X": {"shape": [], "hash": "0", "checksums": ""}}',
                '{"X": {"shape": [1], "hash": "0", "checksums": "?"}}',
            )
        ),
    ],
)
def test_foreign_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ValueError, match="is not the manifest of a shadow cache"):
        _attack(tmp_path).fit(X, Y)


def test_folder_in_place_of_the_manifest_is_refused(tmp_path):
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(ValueError, match=r"cache_dir: .* is not the manifest"):
        _attack(tmp_path).fit(X, Y)


@pytest.mark.parametrize("place", ["file", "file/under", ""])
def test_cache_dir_that_can_be_no_folder_is_refused(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    message = rf"cache_dir must be a folder .* got '{place}'"
    with pytest.raises(ValueError, match=message):
        _attack(place).fit(X, Y)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_cache_dir_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("read only")

    message = r"cache_dir must be a folder .* got '.*' \(read only\)"
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", refuse)
        with pytest.raises(ValueError, match=message):
            _attack(tmp_path).fit(X, Y)
    _attack(tmp_path).fit(X, Y)
    (tmp_path / "shadow-00002.npz").unlink()
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(OSError, match=message):
        _attack(tmp_path).fit(X, Y)


def test_cache_needs_an_integer_seed_and_no_models(tmp_path):
    with pytest.raises(
        ValueError, match="random_state must be an integer if cache_dir"
    ):
        _attack(tmp_path, random_state=None).fit(X, Y)
    with pytest.raises(ValueError, match="store_models must be False if cache_dir"):
        _attack(tmp_path, store_models=True).fit(X, Y)
    assert not list(tmp_path.iterdir())


def test_parameter_without_a_fingerprint_is_refused(tmp_path):
    without_source = eval("lambda X, rng: [X]")
    with pytest.raises(ValueError, match="cache_dir needs augmentations to have a sou"):
        _attack(tmp_path, augmentations=without_source).fit(X, Y)


def _shift(by, times=1):
    def shifted(X, rng, scale=times):
        return [X + by * scale]

    return shifted


def test_functions_within_functions_are_told_apart_by_what_they_use(tmp_path):
    _attack(tmp_path, augmentations=_shift(1)).fit(X, Y)
    _attack(tmp_path, augmentations=_shift(1)).fit(X, Y)
    for other in (_shift(2), _shift(1, times=3)):
        with pytest.raises(ValueError, match="Changed: augmentations"):
            _attack(tmp_path, augmentations=other).fit(X, Y)


def test_lambdas_of_one_line_are_told_apart(tmp_path):
    one, two = (lambda X, rng: [X + 1]), (lambda X, rng: [X + 2])
    _attack(tmp_path, augmentations=one).fit(X, Y)
    _attack(tmp_path, augmentations=one).fit(X, Y)
    with pytest.raises(ValueError, match="Changed: augmentations"):
        _attack(tmp_path, augmentations=two).fit(X, Y)


NOTEBOOK = """
FACTOR = {factor}

def helper(X):
    return X * FACTOR

class Scaled(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return helper(X)
"""


def _cell(factor):
    """Run a cell as a notebook does."""
    source = NOTEBOOK.format(factor=factor)
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    names = {
        "__name__": "__main__",
        "TransformerMixin": TransformerMixin,
        "BaseEstimator": BaseEstimator,
    }
    exec(compile(source, "<cell>", "exec"), names)
    return names


@pytest.mark.parametrize("kind", ["function", "class"])
def test_a_notebook_is_compared_by_what_its_cells_use(kind):
    described = []
    for factor in (1, 1, 2):
        names = _cell(factor)
        step = FunctionTransformer(names["helper"])
        if kind == "class":
            step = names["Scaled"]()
        entries, _ = fingerprint(X, Y, make_pipeline(step, GaussianNB()))
        described.append(entries)
    assert described[0] == described[1]
    assert described[0] != described[2]


def test_cache_keeps_little_more_than_the_signals(tmp_path):
    rng = np.random.default_rng(0)
    many, labels = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    _attack(tmp_path).fit(many, labels)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 6 * 20_000 * (4 + 2 / 8) + 20_000 * 10


def test_a_full_disk_leaves_no_part_of_a_shadow(tmp_path, monkeypatch):
    _attack(tmp_path).fit(X, Y)
    (tmp_path / "shadow-00002.npz").unlink()
    before = sorted(tmp_path.iterdir())

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            _attack(tmp_path).fit(X, Y)
    assert sorted(tmp_path.iterdir()) == before
    _attack(tmp_path).fit(X, Y)


@pytest.fixture(scope="module")
def expected():
    """Signals of a run that nothing interrupts."""
    tree = DecisionTreeClassifier(max_depth=3)
    attack = _attack(None, tree, n_shadows=resuming.N_SHADOWS).fit(X, Y)
    return attack.signals_.tobytes().hex()


def test_killed_run_resumes_where_it_was(tmp_path, expected):
    n_reported, n_trained = resuming.kill_and_resume(
        tmp_path, expected, delay=0.1, n_awaited=3
    )
    assert 3 <= n_reported < resuming.N_SHADOWS
    assert n_trained > 0


def test_two_runs_may_share_a_folder(tmp_path, expected):
    runs = [resuming.start(tmp_path / "shared", tmp_path / f"log-{i}") for i in (0, 1)]
    for run in runs:
        assert resuming.finish(run)[1] == expected
