"""Mechanisms of one's own, from a Python file anywhere."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from penstock.errors import BadInput, PenstockError
from penstock.mechanisms.base import Mechanism


def is_file(target: str) -> bool:
    """Whether a mechanism is named by its file: ``mine.py``, or ``mine.py:Mine``."""
    return target.partition(":")[0].endswith(".py")


def load_mechanism(target: str) -> type[Mechanism]:
    """The mechanism of a file: ``mine.py``, or ``mine.py:Mine`` if it holds several."""
    path, _, name = target.partition(":")
    held = {kind.__name__: kind for kind in _held(_loaded(Path(path).resolve()))}
    if name and name not in held:
        raise BadInput(f"{path} has no mechanism {name!r}; it has {', '.join(held) or 'none'}.")
    if not held:
        raise BadInput(f"{path} defines no mechanism; write a class that is a penstock.mechanisms.base.Mechanism.")
    if not name and len(held) > 1:
        raise BadInput(f"{path} has {', '.join(held)}; say which as {path}:NAME.")
    return held[name or next(iter(held))]


def _held(module: ModuleType) -> list[type[Mechanism]]:
    """The mechanisms that a file defines itself."""
    values = vars(module).values()
    kinds = [value for value in values if isinstance(value, type) and issubclass(value, Mechanism)]
    return [kind for kind in kinds if kind.__module__ == module.__name__]


@lru_cache
def _loaded(path: Path) -> ModuleType:
    """The file as a module. Once a process: a class that is loaded twice is two classes."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}; give the path of a Python file with a mechanism in it.")
    name = f"own_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} cannot be loaded as Python; give the path of a file that can.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.parent))  # what lies beside it can be imported
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no result
            spec.loader.exec_module(module)
    except PenstockError:
        raise
    except Exception as fault:
        raise BadInput(f"{path} fails with {type(fault).__name__}: {fault}; mend it first.") from None
    finally:
        sys.path.remove(str(path.parent))
    return module
