import os
import subprocess
import sys
import warnings
from types import ModuleType

import numpy as np
import pytest
import resuming
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack
from skpriv.attacks._cache import ShadowCache
from skpriv.attacks._fingerprint import _describe, _describe_rows

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
    monkeypatch.setattr("skpriv.attacks._shadows.train_shadow", None)
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


def test_a_function_is_described_alike_in_every_process():
    # A function within it, and a set of strings, whose order no two processes share.
    code = (
        "from skpriv.attacks._fingerprint import _describe\n"
        "def func(X): return [x for x in X if x in {'a', 'b', 'c', 'd', 'e'}]\n"
        "func.__module__ = 'skpriv'; import skpriv; skpriv.func = func\n"
        "print(_describe('func', func))"
    )
    described = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(described) == 1


def _module(source):
    """Function `func` of a module that was just edited, as pickle finds it."""
    module = ModuleType("edited")
    sys.modules["edited"] = module
    exec(source, module.__dict__)
    return module.func


_DECORATED = """
import functools
def decorate(function, power):
    @functools.wraps(function)
    def wrapper(X):
        return function(X) ** power
    return wrapper
def func(X):
    return X + {added}
func = decorate(func, {power})
"""

_HELPER = "def helper(X): return X * {}\ndef func(X): return helper(X)"
_CACHED = "from functools import cache\n@cache\ndef func(n): return n * {}"
_PARTIAL = (
    "from functools import partial\n"
    "def helper(X, n): return X * n * {}\n"
    "func = partial(helper, n=2)"
)
_BOUND = (
    "from functools import partial\n"
    "def helper(X, f): return f(X)\n"
    "def double(X): return X * {}\n"
    "func = partial(helper, f=double)"
)
_CLASS = "class func:\n    def forward(self, X): return X * {}"
_OBJECT = "class Scaler:\n    def __call__(self, X): return X * {}\nfunc = Scaler()"
_ATTRIBUTE = (
    "class Net:\n    width = {}\n    def __init__(self): self.layers = self.width\n"
    "func = Net"
)
_BASE = (
    "class Base:\n    def forward(self, X): return X * {}\n"
    "class Net(Base): pass\nfunc = Net"
)
_BLOCK = (
    "class Block:\n    def forward(self, X): return X * {}\n"
    "class Net:\n    def __init__(self): self.block = Block()\nfunc = Net"
)
_STATIC = "class Net:\n    @staticmethod\n    def f(X): return X * {}\nfunc = Net"
_METHOD = (
    "class Scaler:\n    def by(self): return {}\n"
    "    def scale(self, X): return X * self.by()\nfunc = Scaler().scale"
)
_LIST = "BY = [{}]\ndef func(X): return X * BY[0]"
_LISTED = "def f(X): return X * {}\ndef func(X, fs=(f,)): return fs[0](X)"
_REPEATED = (
    "def f(X): return X\ndef g(X): return -X\nuse = [None, f, g][{}]\n"
    "def func(X, a=f, b=g, c=use): return a(b(c(X)))"
)
_ESTIMATOR = (
    "class func:\n    def get_params(self): return dict()\n"
    "    def fit(self, X, y): return {}"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def func(X): return np.sin(X)", "def func(X): return np.cos(X)"),
        ("def func(X, a=1): return X * a", "def func(X, a=2): return X * a"),
        ("def func(X, *, a=1): return X * a", "def func(X, *, a=2): return X * a"),
        ("A = 1\ndef func(X): return X * A", "A = 2\ndef func(X): return X * A"),
        (
            "A = 1, 'a'\ndef func(X): return [x for x in X if x in A]",
            "A = 1, 'b'\ndef func(X): return [x for x in X if x in A]",
        ),
        (
            "from numpy import sin as f\ndef func(X): return f(X)",
            "from numpy import cos as f\ndef func(X): return f(X)",
        ),
        (
            "from math import sin as f\ndef func(X): return f(X)",
            "from math import cos as f\ndef func(X): return f(X)",
        ),
        (
            _DECORATED.format(added=1, power=1),
            _DECORATED.format(added=1, power=2),
        ),
        (
            _DECORATED.format(added=1, power=1),
            _DECORATED.format(added=2, power=1),
        ),
        *[
            (source.format(1), source.format(2))
            for source in (
                *(_HELPER, _CACHED, _PARTIAL, _BOUND, _OBJECT, _CLASS, _ATTRIBUTE),
                *(_BASE, _BLOCK, _STATIC, _METHOD, _LIST, _LISTED, _REPEATED),
                _ESTIMATOR,
            )
        ],
    ],
)
def test_an_edited_function_is_told_from_what_it_was(monkeypatch, before, after):
    monkeypatch.setitem(sys.modules, "edited", None)
    described = [_describe("func", _module(s)) for s in (before, before, after)]
    assert described[0] == described[1] != described[2]


def test_a_function_that_holds_itself_is_described(monkeypatch):
    monkeypatch.setitem(sys.modules, "edited", None)
    source = (
        "def make():\n"
        "    def func(n): return n and func(n - 1)\n"
        "    return func\n"
        "func = make(); func.__qualname__ = 'func'"
    )
    assert _describe("func", _module(source)) == _describe("func", _module(source))


def test_a_name_of_an_attribute_is_no_variable(monkeypatch):
    monkeypatch.setitem(sys.modules, "edited", None)
    source = "shape = {}\ndef func(X): return X.shape"
    before, after = (
        _describe("func", _module(source.format(shape))) for shape in (1, 2)
    )
    assert before == after


def test_ufuncs_are_told_from_one_another():
    assert _describe("func", np.sin) != _describe("func", np.cos)


def test_layout_in_memory_is_no_change():
    for rows in (X, X[:, :1]):
        wide = np.repeat(rows, 2, axis=1)[:, ::2]
        described = {_describe_rows(a) for a in (rows, np.asfortranarray(rows), wide)}
        described.add(_describe_rows(np.ascontiguousarray(rows)))
        assert len(described) == 1


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
    rows = f"16 {'0' * 32} {'0' * 64}"
    cache = ShadowCache(tmp_path, {"X": rows, "y": rows})
    cache.save(0, members, signals, members)
    path = tmp_path / "shadow-00000.npz"
    whole = path.read_bytes()
    n_damaged = 0
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 + place % 255
        path.write_bytes(changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = cache.load(0, members)
        if found is None:
            n_damaged += 1
            assert any("is damaged" in str(w.message) for w in caught)
        else:
            # Some bytes, such as those of the time, say nothing of the content.
            assert_array_equal(found[0], signals)
            assert_array_equal(found[1], members)
    assert n_damaged > len(whole) / 2


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
            f'{{"format": "skpriv shadows 1", "fingerprint": {known}}}'
            for known in (
                "[]",
                "{}",
                '{"X": 1, "y": 2}',
                '{"X": "a", "y": "b"}',
                '{"X": "150 x 4 00 0000", "y": "150 00 0000"}',
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
    message = rf"cache_dir is '{place}'; it wants a folder that can be made"
    with pytest.raises(ValueError, match=message):
        _attack(place).fit(X, Y)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_cache_dir_that_can_not_be_written_is_refused(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError("read only")

    message = r"cache_dir is '.*'; it wants a folder .* \(read only\)"
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkstemp", refuse)
        with pytest.raises(ValueError, match=message):
            _attack(tmp_path).fit(X, Y)
    _attack(tmp_path).fit(X, Y)
    (tmp_path / "shadow-00002.npz").unlink()
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(OSError, match=message):
        _attack(tmp_path).fit(X, Y)


def test_cache_wants_an_integer_seed_and_no_models(tmp_path):
    with pytest.raises(ValueError, match="random_state is None; with cache_dir"):
        _attack(tmp_path, random_state=None).fit(X, Y)
    with pytest.raises(ValueError, match="store_models=True: the cache keeps"):
        _attack(tmp_path, store_models=True).fit(X, Y)
    assert not list(tmp_path.iterdir())


def test_parameter_without_a_fingerprint_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cache_dir needs augmentations to be pick"):
        _attack(tmp_path, augmentations=lambda X, rng: [X]).fit(X, Y)


def test_cache_keeps_little_more_than_the_signals(tmp_path):
    rng = np.random.default_rng(0)
    many, labels = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    _attack(tmp_path).fit(many, labels)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 6 * 20_000 * (4 + 2 / 8) + 20_000 * 10


def test_killed_run_resumes_where_it_was(tmp_path):
    _, expected = resuming.finish(resuming.start(tmp_path / "whole", tmp_path / "log"))
    n_reported, n_trained = resuming.kill_and_resume(
        tmp_path, expected, delay=0.1, n_awaited=3
    )
    assert 3 <= n_reported < resuming.N_SHADOWS
    assert n_trained > 0


def test_two_runs_may_share_a_folder(tmp_path):
    _, expected = resuming.finish(resuming.start(tmp_path / "whole", tmp_path / "log"))
    runs = [resuming.start(tmp_path / "shared", tmp_path / f"log-{i}") for i in (0, 1)]
    for run in runs:
        assert resuming.finish(run)[1] == expected
