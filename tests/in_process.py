"""What several test files need to look at Penstock from outside."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar
from unittest import mock

import typer.main
from hypothesis import strategies as st

import penstock as ps
from penstock.cli.main import run
from penstock.desk import Question
from penstock.types import Ints

T = TypeVar("T")

put_together = lru_cache(typer.main.get_command)  # once: it takes longer than most commands do


def command(*arguments: object, stdin: str | bytes = "") -> tuple[int, str, str]:
    """``penstock``, in this process: its exit code, its standard output, its standard error."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    data = stdin.encode() if isinstance(stdin, str) else stdin
    with (
        mock.patch.object(sys, "argv", ["penstock", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))),
        mock.patch.object(typer.main, "get_command", put_together),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, out.getvalue(), err.getvalue()


def penstock(*arguments: object) -> tuple[int, str]:
    """Its exit code, and all it printed."""
    code, out, err = command(*arguments)
    return code, out + err


class Crash(BaseException):
    """Nobody catches it."""


def crash_at(point: str) -> Callable[[str], None]:
    """For ``Store(at=...)``: the process dies at this point."""

    def at(here: str) -> None:
        if here == point:
            raise Crash

    return at


def made(kind: str, model: ps.PrivacyModel, **options: Any) -> ps.Mechanism:
    """The mechanism of this class name."""
    mechanism: ps.Mechanism = getattr(ps, kind)(model=model, **options)
    return mechanism


def published(mechanism: ps.Mechanism, rows: Any, noise: Any = None, **options: Any) -> list[ps.Release]:
    """All releases of these rows; ``options`` are those of the curator."""
    stream = ps.streams.Stream(rows)
    mechanism.start(ps.Curator(mechanism.model, stream.bins, noise=noise, **options))
    return [mechanism.step(snapshot) for snapshot in stream]


@st.composite
def promises(draw: st.DrawFn, epsilons: Sequence[str] = ("0.1", "0.7", "1", "8")) -> dict[str, Any]:
    """What all models but m-context have in common."""
    return {
        "epsilon": draw(st.sampled_from(epsilons)),
        "neighbours": draw(st.sampled_from(["add-remove", "replace"])),
        "per_unit": draw(st.integers(1, 3)),
    }


@st.composite
def models(draw: st.DrawFn, epsilons: Sequence[str], longest: int, steps: int) -> ps.PrivacyModel:
    """Every kind of model but m-context, with windows up to ``longest`` or a horizon of ``steps``."""
    options = draw(promises(epsilons))
    match draw(st.sampled_from(["event", "window", "user", "delta"])):
        case "event":
            return ps.EventLevel(**options)
        case "window":
            return ps.WEvent(w=draw(st.integers(1, longest)), **options)
        case "user":
            return ps.UserLevel(horizon=steps, **options)
    return ps.DeltaNeighbourhood(steps=draw(st.integers(1, longest)), **options)


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
