"""The shape of the code: sizes, directions, what may touch what, and the public door."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as ps
from penstock.laws import MODELS

SOURCE = Path(ps.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MECHANISMS = [path for path in (SOURCE / "mechanisms").glob("*.py") if path.stem not in ("__init__", "base")]

MOST_LINES = 300
MOST_LINES_OF_A_MECHANISM = 150
MOST_LINES_OF_A_FUNCTION = 25

MAY_UNSEAL = {"types.py", "desk.py"}
PLANTED = ("penstock.audit.broken", "penstock.audit.planted", "penstock.audit.permissive")
MAY_DRAW = {"noise", "primitives"}
SECRETS = {"ledger", "noise", "claim", "unseal", "meter", "desk"}
PUBLIC_PRIMITIVES = (
    *("estimator", "grouping", "kalman", "pid", "pool", "reach", "reading"),
    *("sampling", "segment", "smoothing", "spread", "stacking", "volley"),
)
A_MECHANISM_MAY_IMPORT = {
    *("math", "copy", "dataclasses", "typing", "collections", "fractions", "numpy"),
    *("penstock.epsilon", "penstock.mechanisms.base", "penstock.models", "penstock.queries", "penstock.types"),
    "penstock.parameters",
    *(f"penstock.primitives.{name}" for name in PUBLIC_PRIMITIVES),
    *(f"penstock.theory.{path.stem}" for path in (SOURCE / "theory").glob("*.py")),  # formulas of public numbers
    "penstock.allocation",  # plans, of public numbers too
    *(f"penstock.allocation.{path.stem}" for path in (SOURCE / "allocation").glob("*.py")),
    *(f"penstock.mechanisms.{path.stem}" for path in MECHANISMS),  # one mechanism may be built on another
}
DOOR = [
    "BadInput",
    "BudgetExceeded",
    "Curator",
    "DeltaNeighbourhood",
    "Domain",
    "Epsilon",
    "EventLevel",
    "Kind",
    "Ledger",
    "MContext",
    "Mechanism",
    "NotProven",
    "PenstockError",
    "Points",
    "Population",
    "PrivacyModel",
    "Published",
    "Publisher",
    "Release",
    "ScriptedNoise",
    "SecureNoise",
    "SimulationNoise",
    "Snapshot",
    "SpatialNeighbourhood",
    "State",
    "Store",
    "StoreError",
    "UserLevel",
    "WEvent",
    "__dir__",
    "__getattr__",
    "allocation",
    "asking",
    "histograms",
    "mechanism",
    "mechanisms",
    "new_key",
    "post",
    "publish",
    "state",
    "static",
    "streams",
    "theory",
]


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef))


def imports(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= (MOST_LINES_OF_A_MECHANISM if path in MECHANISMS else MOST_LINES)
    for function in functions(path):
        body = (function.end_lineno or 0) - function.body[0].lineno + 1
        documented = isinstance(function.body[0], ast.Expr) and ast.get_docstring(function) is not None
        docstring = (function.body[0].end_lineno or 0) - function.body[0].lineno + 1 if documented else 0
        assert body - docstring <= MOST_LINES_OF_A_FUNCTION, function.name


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_module_class_and_public_function_says_what_it_is(path: Path) -> None:
    tree = tree_of(path)
    assert ast.get_docstring(tree) is not None
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node) is not None, node.name


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=name_of)
def test_package_files_hold_nothing_but_imports(path: Path) -> None:
    allowed = (ast.Import, ast.ImportFrom, ast.Expr)
    for node in tree_of(path).body:
        names_all = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        assert isinstance(node, allowed) or names_all


def test_no_file_is_called_utils() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "util", "helpers", "common", "misc")]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_desk_opens_snapshots(path: Path) -> None:
    """Planted failures are the exception, and nothing but the audit imports those."""
    if path.name not in MAY_UNSEAL and not set(path.parts) & {"broken", "permissive.py"}:
        assert "unseal" not in {name for _, name in imports(path)}
        assert "_counts" not in {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
    if "audit" not in path.parts:
        assert not [module for module, _ in imports(path) if module.startswith(PLANTED)]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_randomness_lives_in_the_noise_package(path: Path) -> None:
    """Elsewhere numpy generators only make up streams and neighbours; ``random`` and ``secrets`` are not used."""
    if "audit" in path.parts:
        return
    modules = {module.split(".")[0] for module, _ in imports(path)}
    assert not modules & {"random", "secrets"}


@pytest.mark.parametrize("path", MECHANISMS, ids=name_of)
def test_a_mechanism_touches_neither_counts_nor_noise_nor_ledger(path: Path) -> None:
    for module, _ in imports(path):
        assert module in A_MECHANISM_MAY_IMPORT, module
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute):
            assert node.attr not in SECRETS, ast.unparse(node)
            assert not node.attr.startswith("_"), ast.unparse(node)
            assert node.attr not in ("empty", "empty_like"), "memory as the kernel left it; write np.zeros"
        if isinstance(node, ast.For):
            assert "bins" not in ast.unparse(node.iter), "a loop over bins in Python"


def test_every_mechanism_lies_in_a_file_and_a_proof_of_its_name() -> None:
    for key, mechanism in ps.mechanisms().items():
        assert (SOURCE / "mechanisms" / f"{key}.md").exists()
        assert set(mechanism.proven_for) <= set(MODELS.values())


def test_the_public_door() -> None:
    assert sorted(ps.__all__) == sorted(DOOR)
    assert all(hasattr(ps, name) for name in DOOR)
    with pytest.raises(AttributeError, match="Foo"):
        _ = ps.Foo


def test_importing_is_quick_and_pulls_in_no_extra(tmp_path: Path) -> None:
    """Under 0.3 s of processor time, the best of five (other tests share the machine); numpy takes most of it."""
    program = (
        "import time, sys; begin = time.process_time(); import penstock; print(time.process_time() - begin);"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    compiled = os.environ | {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", program]
    printed = [subprocess.check_output(command, text=True, env=compiled).splitlines() for _ in range(5)]
    assert min(float(seconds) for seconds, _ in printed) < 0.3
    extras = {"typer", "rich", "click", "matplotlib", "opendp", "scipy", "pandas", "hypothesis"}
    assert not extras & set(printed[0][1].split())
