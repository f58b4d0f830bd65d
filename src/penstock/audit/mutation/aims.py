"""What is mutated: the files that a guarantee or its durability rests on, and the tests that may be near to them."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from penstock.audit.mutation.testing import PACKAGE

AIMS = (
    *("answering.py", "charges.py", "codec.py", "curator.py", "desk.py", "disk.py", "door.py", "epsilon.py", "laws.py"),
    *("ledger.py", "meters.py", "models.py", "points.py", "population.py", "publisher.py", "queries.py", "sealing.py"),
    *("session.py", "transcript.py", "uncopied.py", "writer.py"),
    *(f"noise/{name}.py" for name in ("base", "cauchy", "digits", "keystream", "scripted", "secure", "simulation")),
    *(f"primitives/{name}.py" for name in ("grouper", "pool", "purse", "segment", "stacking", "volley")),
    *(f"store/{name}.py" for name in ("account", "archive", "copying", "faults", "files", "founding", "holding")),
    *(f"store/{name}.py" for name in ("links", "migration", "owed", "populations", "record", "schema", "scribe")),
    *(f"store/{name}.py" for name in ("soundness", "store", "verify")),
)


# What more files of tests than this import says nothing about which of them are near.
RARE = 5
# Tests of meters, of publishers and of stores that come through other doors.
ALSO_NEAR = ("presence", "publishing", "recovery")


def find_near_files() -> list[str]:
    """The files of tests that bear the name of an aim or of its package, or import one that few others import."""
    modules = {f"{PACKAGE}.{aim.removesuffix('.py').replace('/', '.')}" for aim in AIMS}
    modules |= {module.rsplit(".", 1)[0] for module in modules} - {PACKAGE}
    imported = {path: _imported(path) & modules for path in sorted(Path("tests").glob("test_*.py"))}
    often = Counter(module for found in imported.values() for module in found)
    rare = {module for module in modules if often[module] <= RARE}
    return [str(path) for path, found in imported.items() if found & rare or _is_near_by_name(path)]


def _is_near_by_name(path: Path) -> bool:
    names = {*ALSO_NEAR, *(Path(aim).stem for aim in AIMS), *(Path(aim).parent.name for aim in AIMS)}
    return bool(names & set(path.stem.split("_")))


def _imported(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
