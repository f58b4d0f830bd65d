"""A storm of crashes: processes are killed at every point where it hurts, and anywhere else, and nothing may be lost.

After every kill: whatever was stored before is stored still, byte for byte; the budget spent has not decreased; no time
unit is missing or has two releases; what was written out is what is stored; the whole store verifies, which recounts
what steps owe that were lost, have failed or were refused. Some steps are made to fail, and to be refused, for that. In
the end every segment, volley, pool and grouper that a mechanism has made was asked something.

    python -m penstock.audit.crash --kills 200
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock import catalogue
from penstock.audit.malformed import ordeal
from penstock.checks.coverage import Heard, unasked
from penstock.curator import Curator
from penstock.errors import BudgetExceeded, CheckFailed
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel, UserLevel, WEvent
from penstock.publisher import Publisher
from penstock.store import Archive, Store
from penstock.store.account import Record
from penstock.store.record import unpack
from penstock.store.verify import verify, verify_file
from penstock.streams import Calendar, write
from penstock.types import Cause, Release, Snapshot

BEFORE_COMMIT = ("intent", "draw", "state", "write")
FAULTS: dict[str, Callable[[], Exception]] = {
    "failure": lambda: RuntimeError("it fails."),
    "refusal": lambda: BudgetExceeded("it asks for more than is left."),
}
POINTS = (*BEFORE_COMMIT, "commit", "head", "emit", *FAULTS)
ANYWHERE = "anywhere"
BINS = tuple(f"bin {i}" for i in range(12))
# Units that counts rest: long enough for a sparse vector to be asked.
RESTING_UNITS = 60
# Units; in shorter windows auto hardly ever watches over a stream at rest.
WINDOW = 24
# Windows that are published without a crash, until every handle was asked.
MOST_WINDOWS = 30
LONGEST_LIFE = 0.08  # seconds until a process that is killed anywhere is killed
MOST_REACHED = {"state": 2}  # a point is passed up to so many times before the kill; states are rare
USUALLY = 2 * WINDOW  # a window that starves after a loss, and one that does not
SUFFERED = (Cause.LOST, Cause.FAILED, Cause.REFUSED)
LONGEST_STREAM = 100_000  # a life that lasts so long has missed its point
MODELS = (WEvent(epsilon=1, w=WINDOW), UserLevel(epsilon=1, horizon=LONGEST_STREAM))


@dataclass
class Victim:
    """A stream that keeps being killed, and what was known of it before."""

    mechanism: str
    folder: Path
    bins: tuple[str, ...] = BINS
    records: list[Record] = field(default_factory=list)
    written: bytes = b""
    announced: int | None = None  # a unit that was announced when the process died, and not stored

    @property
    def name(self) -> str:
        return f"{self.mechanism} (one bin)" if len(self.bins) == 1 else self.mechanism

    @property
    def store(self) -> Path:
        return self.folder / f"{self.name}.db"

    @property
    def output(self) -> Path:
        return self.folder / f"{self.name}.csv"

    @property
    def kind(self) -> type[Mechanism]:
        return catalogue.mechanism(self.mechanism)

    @property
    def model(self) -> PrivacyModel:
        return next(model for model in MODELS if type(model) in self.kind.proven_for)

    def live(self, point: str, times: int, units: int | None = None) -> None:
        """Publish, and die at the given point when it is reached for the given time.

        A fault is a point in a step; the process that comes to it has stored what became of it before dying.
        """
        left, begun = Counter({point: times}), list[int]()
        if point in FAULTS:
            _let_fail(self.kind, FAULTS[point], times, begun)

        def at(reached: str) -> None:
            left[reached] -= 1
            if (reached == point and left[reached] == 0) or (reached == "emit" and len(begun) >= times > 0):
                os.kill(os.getpid(), signal.SIGKILL)

        with (
            Store(self.store, at=at) as store,
            Publisher(catalogue.made(self.mechanism, {}, self.model), store, "stream", bins=self.bins) as publisher,
            write(self.output, self.bins) as sink,
        ):
            # only what cannot be read ahead has a transaction for its intent
            source = _Endless(self.bins, live=point == "intent")
            for release in publisher.run(source, sink):
                if units is not None and release.t >= units:
                    return

    def check(self, point: str = ANYWHERE) -> None:
        """Compare with what was known before, and remember what is known now."""
        if not self.store.exists():
            return
        with Archive(self.store) as archive:
            verify_file(archive)
            if "stream" not in archive.streams():
                return
            verify(archive, "stream")
            account = archive.account("stream")
            records, intent = list(archive.records(account)), archive.intent(account)
        _require(records[: len(self.records)] == self.records, "a stored record has changed")
        if self.announced is not None and self.announced <= len(records):
            cause = unpack(records[self.announced - 1].body).cause
            _require(cause is Cause.LOST, "a unit was drawn twice")
        _require(intent is not None or point not in BEFORE_COMMIT, "nobody knows that a unit was drawn")
        self.announced = intent.t if intent else None
        written = self.output.read_bytes() if self.output.exists() else b""
        whole = self.written[: self.written.rfind(b"\n") + 1]
        _require(written.startswith(whole), "a written row has changed")
        self.records, self.written = records, written

    def finish(self) -> int:
        """Publish some more without a crash; then everything must be there, once. Returns how many units were lost."""
        for _ in range(MOST_WINDOWS):
            self.live(ANYWHERE, 0, units=len(self.records) + WINDOW)
            self.check()
            if not self.unused():
                break
        _require(not self.unused(), f"{self.name} was never seen to use {', '.join(sorted(self.unused()))}")
        with Archive(self.store) as archive:
            releases = list(archive.published(archive.account("stream")))
        rows = self.output.read_text(encoding="utf-8").splitlines()[1:]
        units = [int(row.split(",")[1]) for row in rows]
        _require(units == list(range(1, len(releases) + 1)), "a time unit was written twice, or not at all")
        links = [row.rsplit(",", 1)[1] for row in rows]
        _require(links == [release.link for release in releases], "what was written is not what is stored")
        causes = Counter(release.cause for release in releases)
        _require(all(causes[cause] for cause in SUFFERED), "no step was lost, has failed or was refused")
        return causes[Cause.LOST]

    def unused(self) -> set[str]:
        """The kinds of handles that the mechanism has made, and of which nothing was asked in any record."""
        mechanism, handles = self.begun()
        asked = {verb for record in self.records for verb, _ in unpack(record.body).answers}
        return Heard(asked, unasked=set(unasked(mechanism)), handles=set(handles)).unused

    def begun(self) -> tuple[Mechanism, list[type]]:
        """The mechanism before its first unit, and the kinds of handles that it makes."""
        curator = Curator(self.model, len(self.bins))
        mechanism = catalogue.made(self.mechanism, {}, self.model).start(curator)
        return mechanism, [type(handle) for handle in curator.handles]


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CheckFailed(f"after a crash {otherwise}.")


def _let_fail(kind: type[Mechanism], fault: Callable[[], Exception], times: int, begun: list[int]) -> None:
    """In this process, which is about to die, a step goes wrong at the given time, after all its questions."""
    whole = kind.decide

    def decide(self: Mechanism, snapshot: Snapshot) -> Release:
        release = whole(self, snapshot)
        begun.append(snapshot.t)
        if len(begun) == times:
            raise fault()
        return release

    setattr(kind, "decide", decide)  # noqa: B010 - of a class


def victims(folder: Path) -> list[Victim]:
    """Every mechanism; with a single bin as well where other handles are made for one."""
    keys = list(catalogue.mechanisms())
    many, single = ([Victim(key, folder, bins) for key in keys] for bins in (BINS, BINS[:1]))
    return many + [one for one, usual in zip(single, many, strict=True) if one.begun()[1] != usual.begun()[1]]


class _Endless:
    """The same stream every time: counts that rest, and jump now and then."""

    def __init__(self, bins: tuple[str, ...], live: bool) -> None:
        self.bins = bins
        self.live = live

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        for t in range(1, LONGEST_STREAM):
            level = np.random.default_rng(t // RESTING_UNITS).integers(0, 500, len(self.bins))
            yield Snapshot(t, level)

    def close(self) -> None:
        """Nothing to let go of."""


def kill(victim: Victim, point: str, rng: np.random.Generator) -> None:
    """Let a process live until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            victim.live(point, int(rng.integers(1, MOST_REACHED.get(point, USUALLY) + 1)))
        finally:
            os._exit(1)
    if point == ANYWHERE:
        time.sleep(rng.uniform(0, LONGEST_LIFE))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    _require(os.WIFSIGNALED(status), f"a process did not live to be killed ({point}, {victim.mechanism})")


def storm(folder: Path, kills: int, seed: int) -> Table:
    """Every point for every mechanism, then as many kills anywhere; raises CheckFailed if anything is lost."""
    rng = np.random.default_rng(seed)
    suffering = victims(folder)
    deaths = [(victim, point) for point in POINTS for victim in suffering]
    deaths += [(suffering[i % len(suffering)], ANYWHERE) for i in range(kills)]
    shown = track(deaths, "Killing", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    for victim, point in shown:
        kill(victim, point, rng)
        victim.check(point)
    table = Table(title=f"{len(deaths)} kills, {kills} of them anywhere", title_justify="left")
    for heading in ("mechanism", "kills", "units published", "of them lost, and spent"):
        table.add_column(heading, justify="left" if heading == "mechanism" else "right")
    for victim in suffering:
        lost = victim.finish()
        suffered = sum(each is victim for each, _ in deaths)
        table.add_row(victim.name, str(suffered), str(len(victim.records)), str(lost))
    return table


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200, help="how many to kill anywhere, besides every point")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which storm")
    told = parser.parse_args()
    console = Console()
    with TemporaryDirectory() as folder:
        console.print(storm(Path(folder), told.kills, told.seed))
        console.print(ordeal(Path(folder), told.kills, told.seed))
    console.print(
        f"seed {told.seed}: no budget was forgotten, no unit was drawn twice or left out, every store verifies."
    )


if __name__ == "__main__":
    main()
