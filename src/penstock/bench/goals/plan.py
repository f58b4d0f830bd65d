"""What is run to see whether ``auto`` does what is asked of it, besides the boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock import catalogue
from penstock.bench.boards import BOARDS, DEV_STREAMS, SHORT_PROMISES, Board
from penstock.bench.goals.covering import Covered
from penstock.bench.goals.made import MADE, SHORT
from penstock.bench.scenario import Promise, Scenario

AUTO = "auto"
PACES = (1, 3, 8, 20, 60)  # releases a window, of which the best is found in hindsight
INTERVALS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # units from one release to the next
ONE, SOME, MANY = 1, 4, 20  # seeds, of runs that take long, a moment, and less
# Instead of a board's own: the worst cell of the long board is judged, and that of three seeds is the luck of one; of
# the short board those are counted that are as good as the best other, who with few seeds is the luckiest of eighteen.
SEEDS = {"long": 5, "short": 27}
COVERED = 2000  # units
PROMISES = SHORT_PROMISES  # windows of 120 with a small and a large epsilon
TWICE = f"const[:{2 * PROMISES[0].window}]"  # nothing ever changes, over two windows

Wanted = Mapping[Scenario, int]  # how many seeds of each


@dataclass(frozen=True)
class Plan:
    """All runs, by what they are for. Tests make it of less."""

    boards: Mapping[str, Board] = field(default_factory=lambda: BOARDS)
    seeds: int | None = None  # in every cell, instead of those that boards have
    paces: tuple[int, ...] = PACES
    intervals: tuple[int, ...] = INTERVALS
    promises: tuple[Promise, ...] = PROMISES
    beginning: str = TWICE
    tried: tuple[str, ...] = DEV_STREAMS
    made: tuple[str, ...] = tuple(MADE)
    made_short: int = SHORT
    covered: int = COVERED

    def compared(self, board: str) -> Wanted:
        """Every mechanism in every cell of a board, as the leaderboard runs it, some of them more often."""
        return self.boards[board].wanted(seeds=self.seeds or SEEDS.get(board))

    @property
    def oracle(self) -> Wanted:
        """The same filter at every fixed pace, on some streams of the long board, under the last of the promises."""
        return {
            Scenario(stream, self.promises[-1], AUTO, (("pace", pace),)): ONE
            for stream in self.boards["long"].streams
            if stream in self.tried
            for pace in self.paces
        }

    @property
    def fixed(self) -> Wanted:
        """Equal shares at every fixed interval and nothing else, in the cells of the user board."""
        user = self.boards["user"]
        return {
            Scenario(stream, promise, "fixed", (("every", every),)): self.seeds or user.seeds
            for stream in user.streams
            for promise in user.promises
            for every in self.intervals
        }

    @property
    def early(self) -> Wanted:
        """A stream in which nothing ever changes, when little is known of it."""
        kinds = (Scenario(self.beginning, promise, key) for promise in self.promises for key in (AUTO, "sample"))
        return dict.fromkeys(kinds, MANY)

    @property
    def ablation(self) -> Wanted:
        """With everything, and without each of its parts, on streams that are on no board."""
        kinds = ((), *(((name, False),) for name in switches()))
        return {
            Scenario(stream, promise, AUTO, told): SOME
            for name in self.made
            for stream in (name, f"{name}[:{self.made_short}]")
            for promise in self.promises
            for told in kinds
        }

    @property
    def coverage(self) -> Mapping[Covered, int]:
        """Its intervals, on the beginnings of the streams of the long board."""
        cut = f"[:{self.covered}]"
        return {Covered(stream + cut, promise, AUTO): ONE for stream, promise in self._long}

    @property
    def _long(self) -> list[tuple[str, Promise]]:
        return [(stream, promise) for stream in self.boards["long"].streams for promise in self.promises]


def switches() -> list[str]:
    """The parts of ``auto`` that can be left out: its parameters that are on by default."""
    return [each.name for each in catalogue.mechanism(AUTO).parameter_fields() if each.default is True]
