"""Which questions a mechanism can ask, read from code: its own, and that of the parts of the kernel it asks.

The kernel hands out a curator, segments, volleys, pools and groupers. Each of their methods leads to some *verbs*, the
first word of every question. The code of a mechanism names the methods that it calls.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from types import CodeType, FunctionType
from typing import Any

from penstock.checks.witness import Witness
from penstock.mechanisms.base import Mechanism

# Every verb there is: a witness weighs them all, and refuses any other.
VERBS = frozenset(name.removeprefix("_weigh_") for name in vars(Witness) if name.startswith("_weigh_"))


@lru_cache(maxsize=64)
def verbs_by_method(part: type) -> Mapping[str, frozenset[str]]:
    """The verbs that each public method of a part of the kernel leads to; methods that lead to none are left out.

    >>> from penstock.primitives.volley import Volley
    >>> dict(verbs_by_method(Volley))
    {'read': frozenset({'volley'})}
    """
    public = [name for name in dir(part) if not name.startswith("_")]
    found = {name: frozenset(_words(part, name, set()) & VERBS) for name in public}
    return {name: verbs for name, verbs in found.items() if verbs}


def _words(part: type, name: str, seen: set[str]) -> set[str]:
    """The words in a method's code and in that of the methods of the same class that it names."""
    function = inspect.getattr_static(part, name, None)
    if name in seen or not isinstance(function, FunctionType):
        return set()
    seen.add(name)
    words = set[str]()
    for code in nested(function.__code__):
        words |= {constant for constant in code.co_consts if isinstance(constant, str)}
        for called in code.co_names:
            words |= _words(part, called, seen)
    return words


def nested(code: CodeType) -> Iterator[CodeType]:
    """A piece of code and all that is defined inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def lineage(mechanism: type[Mechanism]) -> list[type]:
    """The classes that a mechanism is made of, down to the base of all mechanisms, which is left out."""
    return list(takewhile(lambda kind: kind is not Mechanism, mechanism.__mro__))


def sources(mechanism: type[Mechanism]) -> list[Any]:
    """The modules that a mechanism is written in, and what its proof rests on."""
    modules = dict.fromkeys(sys.modules[kind.__module__] for kind in lineage(mechanism))
    return [*modules, *mechanism.rests_on]


@lru_cache(maxsize=64)
def methods_named(mechanism: type[Mechanism]) -> tuple[frozenset[str], frozenset[str]]:
    """The methods that a mechanism's code names of its curator, and of anything else."""
    of_curator, of_others = set[str](), set[str]()
    for part in (*sources(mechanism), *_inherited(mechanism)):
        for node in _attributes(part):
            (of_curator if ast.unparse(node.value).endswith("curator") else of_others).add(node.attr)
    return frozenset(of_curator), frozenset(of_others)


def _inherited(mechanism: type[Mechanism]) -> list[FunctionType]:
    """The methods of the base of all mechanisms that a mechanism calls on itself, and those that they call."""
    found: dict[str, FunctionType] = {}
    waiting: list[Any] = [*lineage(mechanism)]
    while waiting:
        for node in _attributes(waiting.pop()):
            method = vars(Mechanism).get(node.attr)
            own = ast.unparse(node.value) == "self" and not node.attr.startswith("__")
            if own and isinstance(method, FunctionType) and node.attr not in found:
                found[node.attr] = method
                waiting.append(method)
    return [*found.values()]


def _attributes(part: Any) -> Iterator[ast.Attribute]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
