"""All mutants of a source file, each with a name that survives changes elsewhere in the file."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from penstock.audit.mutation.changes import Change, Text, find_changes

Definition = ast.FunctionDef | ast.ClassDef
# Messages, types and imports: no test is asked to know them by heart.
LEFT_ALONE = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.arg)


@dataclass(frozen=True)
class Mutant:
    """One change to one file. ``scope`` is the function or class it lies in, ``before`` and ``after`` the statement.

    ``number`` counts mutants that agree in all of that. ``function`` is the outermost function around the change, if
    there is one, and ``code`` a hash of it (else of the statement): as long as that is the same, so is the mutant.
    """

    file: str
    scope: str
    before: str
    after: str
    number: int
    kind: str
    line: int
    function: str
    code: str
    change: Change

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What a list of equivalent mutants calls it by."""
        return self.file, self.scope, self.before, self.after

    @property
    def key(self) -> str:
        """A short name for tables."""
        return _hash("\n".join([*self.name, str(self.number)]))

    def apply(self, source: str) -> str:
        """The file with the change."""
        data = source.encode()
        return (data[: self.change.start] + self.change.text.encode() + data[self.change.end :]).decode()


class Place(NamedTuple):
    """Where a node lies: the names of the definitions around it, the outermost function, and the statement."""

    scope: tuple[str, ...] = ()
    function: ast.stmt | None = None
    function_name: str = ""
    statement: ast.stmt | None = None


def make_mutants(file: str, folder: Path) -> list[Mutant]:
    """The mutants of a file of the package, in the order of its lines."""
    source = (folder / file).read_text(encoding="utf-8")
    text, seen, found = Text(source), Counter[tuple[str, ...]](), []
    for node, place in _walk(ast.parse(source), Place()):
        for change in find_changes(node, text):
            before, after = _describe(change, place, text)
            scope = ".".join(place.scope)
            number = seen[scope, before, after]
            seen[scope, before, after] += 1
            code = _hash_code(place.function or place.statement)
            line = text.bytes.count(b"\n", 0, change.start) + 1
            name = place.function_name
            found.append(Mutant(file, scope, before, after, number, change.kind, line, name, code, change))
    return found


def _walk(node: ast.AST, place: Place) -> Iterator[tuple[ast.AST, Place]]:
    """The nodes that may change, each with its place."""
    if isinstance(node, ast.stmt):
        place = place._replace(statement=node)
    yield node, place
    for child in _list_children(node):
        yield from _walk(child, _enter(node, place))


def _enter(node: ast.AST, place: Place) -> Place:
    if not isinstance(node, Definition):
        return place
    entered = place._replace(scope=(*place.scope, node.name))
    if isinstance(node, ast.ClassDef) or place.function is not None:
        return entered
    return entered._replace(function=node, function_name=".".join(entered.scope))


def _list_children(node: ast.AST) -> Iterable[ast.AST]:
    """What may change below a node: no annotations, decorators or base classes, and nothing of an error's message."""
    match node:
        case ast.FunctionDef():
            return [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        case ast.ClassDef():
            return node.body
        case ast.AnnAssign():
            return [node.value] if node.value is not None and "TypeAlias" not in ast.unparse(node.annotation) else []
        case ast.Raise():
            return []
        case ast.match_case():
            return [*filter(None, [node.guard]), *node.body]
    return [child for child in ast.iter_child_nodes(node) if not isinstance(child, LEFT_ALONE)]


def _describe(change: Change, place: Place, text: Text) -> tuple[str, str]:
    """The statement without and with the change, in one line each; of a compound one its first line alone."""
    assert place.statement is not None
    start, end = text.locate(place.statement)
    body = getattr(place.statement, "body", None)
    if body:
        end = max(text.locate(body[0])[0], change.end)
    before = text.cut(start, end)
    after = text.cut(start, change.start) + change.text + text.cut(change.end, end)
    return " ".join(before.split()), " ".join(after.split())


def _hash_code(node: ast.AST | None) -> str:
    assert node is not None
    body = node.body if isinstance(node, ast.FunctionDef) else [node]
    documented = isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
    parts = [ast.dump(node.args)] if isinstance(node, ast.FunctionDef) else []
    return _hash("\n".join(parts + [ast.dump(each) for each in body[documented:]]))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
