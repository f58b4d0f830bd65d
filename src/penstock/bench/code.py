"""Which code an outcome came from: a hash over a module and everything of this package that it imports.

Comments, docstrings and layout do not count. What only refuses, describes or keeps things does not either: no published
value depends on it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from penstock.errors import BadInput
from penstock.proofs import bare_code

WITHOUT_EFFECT = frozenset({"penstock.errors", "penstock.sealing", "penstock.codec", "penstock.proofs"})


@lru_cache(maxsize=256)
def code_version(module: str) -> str:
    """A hash of the code of a module and of all that it builds on."""
    known: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += _imports(name)
    code = "\n".join(f"{name}\n{_code(name)}" for name in sorted(known))
    return hashlib.sha256(code.encode()).hexdigest()[:12]


@lru_cache(maxsize=256)
def _code(name: str) -> str:
    return bare_code(importlib.import_module(name))


@lru_cache(maxsize=256)
def _imports(name: str) -> tuple[str, ...]:
    """The modules of this package that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(_code(name))):
        if isinstance(node, ast.Import):
            found |= _whole(name, [each.name for each in node.names])
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return tuple(sorted(each for each in found - WITHOUT_EFFECT if _counts(each, name) and _is_module(each)))


def _whole(name: str, imported: list[str]) -> set[str]:
    """What is imported as a whole, which a mechanism of one's own may do: then it may use all of the package."""
    if name.startswith("penstock.") and any(each.split(".")[0] == "penstock" for each in imported):
        raise BadInput(f"{name} imports the package by import; write from ... import ..., which can be followed.")
    return set(imported)


def _counts(name: str, importer: str) -> bool:
    """Whether a module is of this package, or lies beside a mechanism of one's own."""
    if name.split(".")[0] == "penstock" or importer.startswith("penstock."):
        return name.split(".")[0] == "penstock" and (name != "penstock" or not importer.startswith("penstock."))
    files = [getattr(sys.modules.get(each), "__file__", None) for each in (name, importer)]
    return None not in files and Path(str(files[0])).parent == Path(str(files[1])).parent


def _is_module(name: str) -> bool:
    try:
        return isinstance(importlib.import_module(name), ModuleType)
    except ImportError:
        return False
