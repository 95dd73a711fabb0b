"""Imports point one way, and importing skpriv stays light."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

import skpriv

ROOT = Path(skpriv.__file__).parent
# A part may import from parts of a lower level, and from itself.
LEVELS = {
    "utils": 0,
    "_records": 1,
    "_rows": 1,
    "base": 2,
    "datasets": 2,
    "neighbors": 3,
    "leverage": 3,
    "attacks": 4,
    "metrics": 5,
    "risk": 6,
    "evaluation": 7,
    "plot": 8,
    "report": 9,
    "cli": 10,
    "__main__": 11,
}
KERNELS = {
    "attacks._shadows._likelihood": {"attacks._shadows._pairs", "utils._intervals"},
    "attacks._shadows._pairs": set(),
    "attacks._shadows._separation": set(),
    "leverage._influence": set(),
    "leverage._inverse": set(),
    "leverage._softmax": set(),
    "leverage.network._blocks": set(),
    "leverage.network._cg": set(),
    "metrics._attainable": set(),
    "neighbors._copies": {"neighbors._tie_groups", "utils._threads"},
    "neighbors._ranking": {"neighbors._tie_groups", "utils._threads"},
    "neighbors._semivalues": {"neighbors._tie_groups", "utils._threads"},
    "neighbors._shapley_regression": {"neighbors._tie_groups", "utils._threads"},
    "neighbors._subsets": {"neighbors._tie_groups", "utils._threads"},
    "neighbors._tie_groups": set(),
    "utils._intervals": set(),
}
KERNEL_PACKAGES = {
    "dataclasses",
    "functools",
    "math",
    "numba",
    "numpy",
    "scipy",
    "torch",
    "typing",
}


@functools.cache
def modules():
    trees = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(p for p in parts if p != "__init__")
        trees.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    return trees


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


NAMES = {name for name, _ in modules()}
GRAPH = {
    name: {
        target.removeprefix("skpriv.")
        for target in imports(tree)
        if target.removeprefix("skpriv.") in NAMES and target.startswith("skpriv.")
    }
    for name, tree in modules()
}


@pytest.mark.parametrize("name", sorted(NAMES - {""}))
def test_imports_point_to_lower_levels(name):
    part = name.partition(".")[0]
    for target in GRAPH[name]:
        other = target.partition(".")[0]
        assert part == other or LEVELS[other] < LEVELS[part], (name, target)


def test_no_module_imports_itself_in_a_circle():
    done, path = set(), []

    def visit(name):
        assert name not in path, [*path, name]
        if name not in done:
            path.append(name)
            # A package's own __init__ names its modules, which is no dependence.
            for target in GRAPH[name]:
                if not f"{name}.".startswith(f"{target}."):
                    visit(target)
            path.pop()
            done.add(name)

    for name in NAMES:
        visit(name)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernels_know_arrays_and_other_kernels_only(name):
    tree = dict(modules())[name]
    assert GRAPH[name] - {name.partition(".")[0], "attacks"} <= KERNELS[name]
    foreign = {t.partition(".")[0] for t in imports(tree)} - {"skpriv"}
    assert foreign <= KERNEL_PACKAGES


def test_private_scikit_learn_is_imported_in_utils_only():
    for name, tree in modules():
        private = [
            target
            for target in imports(tree)
            if target.startswith("sklearn.")
            and any(part.startswith("_") for part in target.split("."))
        ]
        assert not private or name == "utils._sklearn", (name, private)


def test_no_kernel_starts_the_threads_of_numba():
    for name, tree in modules():
        options = {
            keyword.arg for node in ast.walk(tree) if isinstance(node, ast.Call)
            for keyword in node.keywords
        }  # fmt: skip
        assert "parallel" not in options, name


def test_import_is_light():
    code = (
        "import sys, skpriv; dir(skpriv); heavy = {'numba', 'torch', 'matplotlib', "
        "'pandas', 'pynndescent'} & set(sys.modules); assert not heavy, heavy; "
        "from skpriv.plot import RiskDisplay; RiskDisplay(risk=[0.5]); "
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_exists():
    for name in skpriv.__all__:
        assert getattr(skpriv, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = skpriv.Nothing


def test_evaluation_plot_and_report_import_no_private_name_of_another_package():
    for name in NAMES:
        part = name.partition(".")[0]
        if part in ("evaluation", "plot", "report"):
            private = {
                target
                for target in GRAPH[name]
                if target.partition(".")[0] not in (part, "utils", "_rows", "_records")
                and any(step.startswith("_") for step in target.split("."))
            }
            assert not private, (name, private)
