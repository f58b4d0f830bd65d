"""What bins are made of: attributes, each with its values, and which bins a condition is about."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from penstock.errors import BadInput
from penstock.parameters import nearest
from penstock.types import Mask

BETWEEN, IS, OR, UP_TO = "&", "=", "|", ".."
PLAIN = "bin"  # what the only attribute of bins with names of their own is called
MOST_BINS = 2**26
MOST_COMPARED = 1000  # values to find the one that was meant
COUNTED = re.compile(r"[0-9]{1,8}")


class Domain:
    """A histogram over the product of attributes. The last attribute runs fastest; values are known by their text.

    Bins are called ``age=17&sex=f``, so that a file of them says by itself what its domain is.

    >>> people = Domain({"age": range(3), "sex": ["f", "m"]})
    >>> people.shape, people.bins[:3]
    ((3, 2), ('age=0&sex=f', 'age=0&sex=m', 'age=1&sex=f'))
    >>> people.where(age="1..", sex="f").nonzero()[0]
    array([2, 4])
    """

    def __init__(self, attributes: Mapping[str, Collection[object]]) -> None:
        if not _is_told(attributes):
            raise BadInput("a domain is told as a mapping from attributes to the list of their values.")
        if math.prod(len(values) for values in attributes.values()) > MOST_BINS:
            raise BadInput(f"a domain has at most {MOST_BINS} bins; leave out attributes, or make values coarser.")
        self.attributes = {str(name): tuple(map(str, values)) for name, values in attributes.items()}
        if not self.attributes or not all(self.attributes.values()):
            raise BadInput("a domain has at least one attribute, and each at least one value; name them.")
        for name, values in self.attributes.items():
            if len(set(values)) < len(values):
                raise BadInput(f'the attribute "{name}" has a value twice; list each once.')
        if not self.is_plain and any(_is_confusing(name, values) for name, values in self.attributes.items()):
            raise BadInput('attributes have names without "=" and "&", and values without "&"; rename them.')

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(len(values) for values in self.attributes.values())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in self.attributes.items())
        return f"Domain({sizes})"

    def __len__(self) -> int:
        """How many bins there are."""
        return math.prod(self.shape)

    @cached_property
    def _places(self) -> dict[str, dict[str, int]]:
        """Where in its attribute each value is."""
        return {name: {value: i for i, value in enumerate(values)} for name, values in self.attributes.items()}

    @property
    def bins(self) -> tuple[str, ...]:
        """The names of all bins, in order."""
        if self.is_plain:
            return self.attributes[PLAIN]
        named = [[f"{name}{IS}{value}" for value in values] for name, values in self.attributes.items()]
        return tuple(BETWEEN.join(parts) for parts in product(*named))

    @property
    def is_plain(self) -> bool:
        """Whether bins have names of their own, and are not made of attributes."""
        return list(self.attributes) == [PLAIN]

    @classmethod
    def of_bins(cls, bins: Sequence[str]) -> Domain:
        """The domain that bins of these names are made of; if they do not tell, one attribute called "bin"."""
        parts = [[part.partition(IS) for part in name.split(BETWEEN)] for name in bins]
        attributes: dict[str, dict[str, None]] = {}
        for row in parts:
            for name, _, value in row:
                attributes.setdefault(name, {})[value] = None
        if all(name and equals for name, equals, _ in (part for row in parts for part in row)):
            made = cls(attributes) if math.prod(map(len, attributes.values())) == len(bins) else None
            if made is not None and made.bins == tuple(bins):
                return made
        return cls({PLAIN: bins})

    @classmethod
    def parsed(cls, text: str) -> Domain:
        """A domain as a command is told it: ``row=8,column=8``, ``age=96,sex=f|m``; a number is so many values from 0.

        >>> Domain.parsed("age=96,sex=f|m").shape
        (96, 2)
        """
        attributes: dict[str, Collection[object]] = {}
        for part in text.split(","):
            name, equals, values = (piece.strip() for piece in part.partition(IS))
            if not equals or not name or not values or name in attributes:
                raise BadInput(f'a domain is told as "age=96,sex=f|m", each attribute once; got {text!r}.')
            counted = COUNTED.fullmatch(values) is not None
            attributes[name] = range(int(values)) if counted else [value.strip() for value in values.split(OR)]
        return cls(attributes)

    def where(self, conditions: Mapping[str, Any] | None = None, /, **more: Any) -> Mask:
        """Which bins meet all conditions: of each attribute a value, several, or a range of them, both ends included.

        ``sex="f"``, ``sex=["f", "x"]`` or ``sex="f|x"``, ``age="18..25"``, ``age="65.."``, ``age=range(18, 26)``.
        """
        if conditions is not None and not isinstance(conditions, Mapping):
            raise BadInput('conditions are told as a mapping, {"age": "18..25"}, or by name, age="18..25".')
        told = {**(conditions or {}), **more}
        for name in told:
            if name not in self.attributes:
                known = ", ".join(self.attributes)
                raise BadInput(f"there is no attribute {name!r}; there is {known}.{nearest(name, self.attributes)}")
        met = np.ones(self.shape, np.bool_)
        for axis, (name, values) in enumerate(self.attributes.items()):
            if name in told:
                along = [1] * len(self.shape)
                along[axis] = len(values)
                met &= self._chosen(name, told[name]).reshape(along)
        return met.reshape(-1)

    def _chosen(self, name: str, told: Any) -> Mask:
        """Which values of an attribute are meant: listed ones to the letter; text may also list some, or a range."""
        values = self.attributes[name]
        chosen = np.zeros(len(values), np.bool_)
        listed = isinstance(told, Iterable) and not isinstance(told, (str, bytes))
        if listed or str(told) in self._places[name]:
            chosen[[self._place(name, str(value)) for value in (told if listed else [told])]] = True
        else:
            for part in str(told).split(OR):
                chosen[self._stretch(name, part.strip())] = True
        if not chosen.any():
            raise BadInput(f'no value of "{name}" is meant by {told!r}; name one, several, or a range.')
        return chosen

    def _stretch(self, name: str, text: str) -> slice:
        """One value, or all from one to another."""
        first, between, last = (piece.strip() for piece in text.partition(UP_TO))
        if text in self._places[name] or not between:
            place = self._place(name, text)
            return slice(place, place + 1)
        begin = self._place(name, first) if first else 0
        end = self._place(name, last) if last else len(self.attributes[name]) - 1
        return slice(begin, end + 1)

    def _place(self, name: str, value: str) -> int:
        if value not in self._places[name]:
            values = self.attributes[name]
            shown = ", ".join(values) if len(values) <= 4 else f"{', '.join(values[:2])}, ..., {values[-1]}"
            raise BadInput(f'"{name}" has no value {value!r}; it has {shown}.{nearest(value, values[:MOST_COMPARED])}')
        return self._places[name][value]


def _is_confusing(name: str, values: tuple[str, ...]) -> bool:
    """Whether names of bins made of these could be read as something else."""
    return not name or IS in name or BETWEEN in name or any(BETWEEN in value for value in values)


def _is_told(attributes: object) -> bool:
    """Whether these are attributes with several values each, none of them a mere text."""
    lists = attributes.values() if isinstance(attributes, Mapping) else [""]
    return all(isinstance(values, Collection) and not isinstance(values, (str, bytes)) for values in lists)
