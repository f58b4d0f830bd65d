"""Proof files: what a mechanism claims, and whether the proof was read against the code as it stands.

Beside ``spas.py`` lies ``spas.md``. Its front matter names the models the proof covers (``claims``), its ``status``
(only ``proved`` unlocks the mechanism) and ``reviewed``, a fingerprint of the class as it was when somebody last read
proof and code side by side. The fingerprint changes with the code, not with comments, docstrings or layout. It does not
cover what the class calls (primitives, and the base of all mechanisms), unless it says that its proof ``rests_on`` it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from penstock.errors import BadInput

MISSING = "missing"
PROVED = "proved"


@dataclass(frozen=True)
class Proof:
    """The front matter of a proof file, and the text below it."""

    claims: tuple[str, ...]
    status: str
    reviewed: str
    text: str


def proof_of(mechanism: type) -> Proof:
    """The proof beside the file that defines ``mechanism``; its status is "missing" if there is none."""
    path = Path(inspect.getfile(mechanism)).with_suffix(".md")
    if not path.exists():
        return Proof(claims=(), status=MISSING, reviewed="", text="")
    return read_proof(path)


@lru_cache(maxsize=256)
def read_proof(path: Path) -> Proof:
    """Parse a proof file."""
    parts = path.read_text(encoding="utf-8").split("---\n", 2)
    if len(parts) != 3:
        raise BadInput(f"{path.name} must begin with front matter between two lines of ---; see CONTRIBUTING.md.")
    _, header, text = parts
    fields = dict(line.split(": ", 1) for line in header.splitlines() if ": " in line)
    try:
        claims = tuple(name.strip() for name in fields["claims"].split(","))
        return Proof(claims, fields["status"].strip(), fields["reviewed"].strip(), text)
    except KeyError as missing:
        raise BadInput(f"{path.name} must state {missing} in its front matter; see CONTRIBUTING.md.") from None


@lru_cache(maxsize=256)
def fingerprint(mechanism: type) -> str:
    """A hash of the class's syntax tree without docstrings, and of those of what it is built on."""
    lineage = takewhile(lambda kind: vars(kind).get("proven_for") != (), mechanism.__mro__)  # down to Mechanism itself
    parts = [*lineage, *getattr(mechanism, "rests_on", ())]
    return hashlib.sha256("\n".join(bare_code(part) for part in parts).encode()).hexdigest()[:16]


def bare_code(kind: Any) -> str:
    """The code of a class, a function or a module without its docstrings."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
