"""Histogram methods by name, as commands and files write them: ``quadtree``, ``quadtree(split=4)``."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from penstock.errors import BadInput
from penstock.histograms.adaptive import Adaptive
from penstock.histograms.base import Histogram, Shape
from penstock.histograms.laplace import Laplace
from penstock.histograms.quadtree import Quadtree
from penstock.parameters import LONGEST_SHOWN, nearest, shown

HISTOGRAMS: dict[str, type[Histogram]] = {"laplace": Laplace, "quadtree": Quadtree, "adaptive": Adaptive}
TITLE = re.compile(r"\w+(?: by (\w+(?:\([^()]*\))?)(?: (\d+(?:x\d+)*))?)?")
LENGTHS = re.compile(r"[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})*", re.ASCII | re.IGNORECASE)
WRITTEN = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*")


def histogram_of(told: object) -> Histogram:
    """A histogram method, given as one or by name.

    >>> histogram_of("quadtree(split=4)")
    Quadtree(split=4)
    """
    if isinstance(told, Histogram):
        return told
    written = WRITTEN.fullmatch(told) if isinstance(told, str) else None
    if written is None or written[1].lower() not in HISTOGRAMS:
        names = ", ".join(HISTOGRAMS)
        near = nearest(str(told)[:LONGEST_SHOWN], HISTOGRAMS)
        raise BadInput(f"no histogram method is called {shown(told)}; there are {names}.{near}")
    kind = HISTOGRAMS[written[1].lower()]
    return kind(**_parameters(kind, written[2] or ""))


def _parameters(kind: type[Histogram], text: str) -> dict[str, Any]:
    known = [each.name for each in fields(kind)]
    try:
        told = tomllib.loads("\n".join(text.replace("#", "?").split(",")))  # where there are no comments
    except (ValueError, RecursionError):  # of which TOMLDecodeError is one
        raise BadInput(f"parameters of a histogram method are written name=value; got {shown(text)}.") from None
    for name in told:
        if name not in known:
            has = ", ".join(known) or "none"
            raise BadInput(f"{kind.__name__} has no parameter {name!r}; it has {has}.{nearest(name, known)}")
    return told


def shape_of(told: object) -> Shape:
    """The lengths of the dimensions of a domain, given as numbers or as text.

    >>> shape_of("96x2x12")
    (96, 2, 12)
    """
    text = "x".join(map(str, told)) if isinstance(told, (list, tuple)) else str(told)
    if LENGTHS.fullmatch(text) is None:
        raise BadInput(f"a shape is written as its lengths, 96x2x12; got {shown(told)}.")
    return tuple(int(length) for length in text.lower().split("x"))


def titled(mechanism: str, parameters: Mapping[str, Any]) -> str:
    """What releases are said to come from: a mechanism, and how it measures histograms if not as usual.

    >>> titled("Uniform", {"histogram": "quadtree(split=4)", "shape": [32, 32]})
    'Uniform by quadtree(split=4) 32x32'
    """
    method, shape = parameters.get("histogram"), parameters.get("shape")
    lengths = f" {'x'.join(map(str, shape))}" if shape else ""
    return f"{mechanism} by {method or Laplace()}{lengths}" if method or shape else mechanism


def measured_by(title: str) -> tuple[Histogram, Shape | None] | None:
    """How histograms of this origin were measured, and the shape of their domain if that is known.

    None if nobody can tell, because they were processed afterwards.
    """
    told = TITLE.fullmatch(title)
    if told is None:
        return None
    method, shape = told[1], told[2]
    try:
        return (histogram_of(method) if method else Laplace()), (shape_of(shape) if shape else None)
    except BadInput:  # of another version, or of somebody else
        return None


def require_shape(shape: Shape, bins: int) -> None:
    """Refuse a shape that has not as many cells as there are bins."""
    if math.prod(shape) != bins:
        written = "x".join(map(str, shape))
        raise BadInput(f"the shape {written} has {math.prod(shape)} cells, and there are {bins} bins; mend the shape.")
