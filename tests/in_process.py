"""What several test files need to look at Penstock from outside."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar
from unittest import mock

import penstock as ps
from penstock.cli.main import run
from penstock.desk import Question
from penstock.types import Ints

T = TypeVar("T")


def penstock(*arguments: object) -> tuple[int, str]:
    """The command, in this process: its exit code, and what it printed, results before messages."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["penstock", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, out.getvalue() + err.getvalue()


class Crash(BaseException):
    """Nobody catches it."""


def crash_at(point: str) -> Callable[[str], None]:
    """For ``Store(at=...)``: the process dies at this point."""

    def at(here: str) -> None:
        if here == point:
            raise Crash

    return at


def script(draws: list[int]) -> Iterator[int]:
    """These draws, then none."""
    yield from draws
    while True:
        yield 0


class Logged(ps.ScriptedNoise):
    """A script that remembers the scales it was asked for."""

    def __init__(self, values: list[int]) -> None:
        super().__init__(values, strict=True)
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.scales += [scale] * size
        return super().laplace(scale, size)


@dataclass
class PriceList:
    """Works out what each answer tells about each bin from the noise it carries, and nothing else."""

    model: ps.PrivacyModel
    bins: int
    told: list[list[Fraction]] = field(default_factory=list)  # of each unit, of each bin

    def begin(self) -> None:
        self.told.append([Fraction(0)] * self.bins)

    def __call__(self, question: Question, compute: Callable[[], T]) -> T:
        assert question.scale is not None
        for j in range(self.bins) if question.bins is None else question.bins.tolist():
            self.told[-1][j] += self.model.sensitivity / question.scale
        return compute()

    def dearest_walk(self) -> Fraction:
        """What somebody who is always in the dearest bin pays in the fullest window."""
        dearest = [max(unit) for unit in self.told]
        return max(sum(dearest[t : t + self.model.window], Fraction(0)) for t in range(len(dearest)))
