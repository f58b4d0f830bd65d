"""Small changes of a syntax tree's node: the operators of mutation testing.

Each operator yields the bytes that it replaces and their replacement. Texts are replaced, not trees, so that a mutant
keeps its comments and its line numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

OPERATORS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
OPPOSITES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
# Their first two arguments can be swapped without effect, or with an error at once.
SYMMETRIC = frozenset({*OPPOSITES, "isinstance", "issubclass", "cast", "TypeVar"})
# A negated comparison of these kinds is what changing its operator makes of it.
NEGATED_ANYHOW = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Change(NamedTuple):
    """A replacement of some bytes of a file."""

    kind: str
    start: int
    end: int
    text: str


class Text:
    """The text of a file, addressed by the nodes of its syntax tree."""

    def __init__(self, source: str) -> None:
        self.bytes = source.encode()
        lines = self.bytes.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def locate(self, node: Any) -> tuple[int, int]:
        """Where a node begins and ends, in bytes."""
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def read(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.locate(node)
        return self.cut(start, end)

    def cut(self, start: int, end: int) -> str:
        """The text of these bytes."""
        return self.bytes[start:end].decode()


def find_changes(node: ast.AST, text: Text) -> Iterator[Change]:
    """All changes of one node, without those of the nodes below it."""
    for kind, operator in BY_NODE.get(type(node), ()):
        for start, end, replacement in operator(node, text):
            yield Change(kind, start, end, replacement)


Replacements = Iterator[tuple[int, int, str]]


def _swap_operators(node: Any, text: Text) -> Replacements:
    operands = _list_operands(node)
    operators = node.ops if isinstance(node, ast.Compare) else [node.op] * (len(operands) - 1)
    for (left, right), operator in zip(pairwise(operands), operators, strict=True):
        if type(operator) in OPERATORS:
            old, new = OPERATORS[type(operator)]
            start, end = text.locate(left)[1], text.locate(right)[0]
            pattern = re.escape(old).replace(r"\ ", r"\s+")
            found = re.search(pattern, text.cut(start, end))
            if found:
                yield start + found.start(), start + found.end(), new


def _list_operands(node: Any) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return list(node.values) if isinstance(node, ast.BoolOp) else [node.left, node.right]


def _change_constant(node: ast.Constant, text: Text) -> Replacements:
    start, end = text.locate(node)
    if isinstance(node.value, bool):
        yield start, end, str(not node.value)
    elif isinstance(node.value, int):
        yield start, end, str(node.value + 1)
        yield start, end, str(node.value - 1) if node.value else "(-1)"
    elif isinstance(node.value, float):
        yield start, end, str(node.value * 2 or 1.0)


def _drop_not(node: ast.UnaryOp, text: Text) -> Replacements:
    if isinstance(node.op, ast.Not):
        start, _ = text.locate(node)
        yield start, start + len("not "), ""


def _negate_condition(node: Any, text: Text) -> Replacements:
    for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
        twice = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not twice and not (isinstance(test, ast.Compare) and isinstance(test.ops[0], NEGATED_ANYHOW)):
            yield *text.locate(test), f"(not ({text.read(test)}))"


def _swap_opposites(node: ast.Call, text: Text) -> Replacements:
    name = _get_name(node.func)
    if name in OPPOSITES:
        _, end = text.locate(node.func)
        yield end - len(name), end, OPPOSITES[name]


def _swap_arguments(node: ast.Call, text: Text) -> Replacements:
    first = node.args[:2]
    if len(first) < 2 or any(isinstance(each, ast.Starred) for each in first) or _get_name(node.func) in SYMMETRIC:
        return
    (start, middle), (following, end) = map(text.locate, first)
    one, other = map(text.read, first)
    if one != other:
        yield start, end, other + text.cut(middle, following) + one


def _get_name(function: ast.expr) -> str:
    return ast.unparse(function).rsplit(".", 1)[-1]


def _delete(node: Any, text: Text) -> Replacements:
    yield *text.locate(node), "pass"


def _delete_call(node: ast.Expr, text: Text) -> Replacements:
    return _delete(node, text) if isinstance(node.value, ast.Call) else iter(())


def _delete_assignment(node: ast.Assign, text: Text) -> Replacements:
    """Of an attribute or an entry; to delete a variable's is an error wherever it is looked at."""
    kept = isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    return _delete(node, text) if kept else iter(())


def _return_nothing(node: ast.Return, text: Text) -> Replacements:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield *text.locate(node.value), "None"


def _swap_jump(node: ast.AST, text: Text) -> Replacements:
    yield *text.locate(node), "continue" if isinstance(node, ast.Break) else "break"


Operator = Callable[[Any, Text], Replacements]
BY_NODE: dict[type[ast.AST], tuple[tuple[str, Operator], ...]] = {
    ast.Compare: (("compare", _swap_operators),),
    ast.BinOp: (("arithmetic", _swap_operators),),
    ast.BoolOp: (("logic", _swap_operators),),
    ast.Constant: (("constant", _change_constant),),
    ast.UnaryOp: (("not", _drop_not),),
    ast.If: (("not", _negate_condition),),
    ast.IfExp: (("not", _negate_condition),),
    ast.While: (("not", _negate_condition),),
    ast.comprehension: (("not", _negate_condition),),
    ast.Call: (("opposite", _swap_opposites), ("arguments", _swap_arguments)),
    ast.Expr: (("call deleted", _delete_call),),
    ast.Raise: (("raise deleted", _delete),),
    ast.Assign: (("assignment deleted", _delete_assignment),),
    ast.AugAssign: (("assignment deleted", _delete),),
    ast.Return: (("return", _return_nothing),),
    ast.Break: (("jump", _swap_jump),),
    ast.Continue: (("jump", _swap_jump),),
}
