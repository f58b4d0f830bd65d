"""A stream that is published in processes of their own, while something goes wrong, and what must hold afterwards.

Whatever was drawn is noted outside the store, at the moment it is drawn; whatever was shown is noted too. So it can be
told from outside that no unit was drawn twice, none was forgotten, and nothing that was shown is missing or differs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from penstock import catalogue
from penstock.audit.recounted import recount_one_by_one
from penstock.charges import Point, Span
from penstock.errors import CheckFailed, PenstockError
from penstock.models import PrivacyModel, WEvent
from penstock.publisher import Publisher
from penstock.store import Archive, Store
from penstock.store.record import Entry, unpack
from penstock.store.verify import verify, verify_file
from penstock.streams import Calendar, write
from penstock.types import Cause, Snapshot

BINS: tuple[str, ...] = ("a", "b", "c", "d")
LAW: PrivacyModel = WEvent(epsilon=1, w=6)
STREAM = "stream"
DATABASE = "s.db"
OUTPUT = "out.csv"
KEY = "key"
HEAD = "head"

# One that keeps nothing secret, and one that seals a state whenever it compares.
MECHANISMS = ("uniform", "spas")

Tell = Callable[[str], None]


@dataclass
class Outcome:
    """How a process ended: ``refused`` is the sentence of a refusal, ``killed`` that it was not given the time."""

    refused: str = ""
    killed: bool = False


class Attempt(NamedTuple):
    """One way to do harm; trying it raises CheckFailed if harm was done."""

    name: str
    attempt: Callable[[], None]


class Life(NamedTuple):
    """A process at work, and where it is heard."""

    child: int
    reading: int


def begin(work: Callable[[Tell], None]) -> Life:
    """Do work in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(work, writing)
    os.close(writing)
    return Life(child, reading)


@dataclass
class Trial:
    """A stream in a folder, and all that was noted of it outside."""

    folder: Path
    mechanism: str
    drawn: Counter[int] = field(default_factory=Counter)
    shown: dict[int, str] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return self.folder / DATABASE

    @property
    def output(self) -> Path:
        return self.folder / OUTPUT

    def publish(self, units: int, tell: Tell, *, store: Path | None = None, output: Path | None = None) -> None:
        """Publish further units; ``tell`` hears of every draw and of every release that is shown."""
        made = catalogue.made(self.mechanism, {}, LAW)

        def at(point: str) -> None:
            if point == "draw":
                tell(f"drawn {publisher.t + 1}")

        with (
            Store(store or self.store, key=self.folder / KEY, head=self.folder / HEAD, at=at) as opened,
            Publisher(made, opened, STREAM, bins=BINS) as publisher,
            write(output or self.output, BINS) as sink,
        ):
            for release in publisher.run(_Counts(publisher.t + units), sink):
                tell(f"shown {release.t} {release.link}")

    def moved(self, folder: Path) -> Trial:
        """The same stream, as it is now, in another folder."""
        copy_files(self.folder, folder)
        return Trial(folder, self.mechanism, Counter(self.drawn), dict(self.shown))

    def live(self, work: Callable[[Tell], None], hear: Tell = lambda line: None) -> Outcome:
        """Do work in a process of its own, and note what it tells; ``hear`` gets all of it."""
        return self.end(begin(work), hear)

    def end(self, life: Life, hear: Tell = lambda line: None) -> Outcome:
        """Wait for the end of a process, and note what it has told."""
        with os.fdopen(life.reading, encoding="utf-8") as lines:
            told = [line.rstrip("\n") for line in lines if line.endswith("\n")]
        _, status = os.waitpid(life.child, 0)
        for line in told:
            self.note(line)
            hear(line)
        return _outcome(told, os.WIFSIGNALED(status))

    def note(self, line: str) -> None:
        """Remember what was drawn or shown."""
        what, _, rest = line.partition(" ")
        if what == "drawn":
            self.drawn[int(rest)] += 1
        elif what == "shown":
            t, link = rest.split(" ")
            require(self.shown.setdefault(int(t), link) == link, f"t={t} was shown twice, and differs")

    def go_on(self, units: int = 2) -> None:
        """Publish some more when nothing goes wrong any longer; this must work."""
        outcome = self.live(lambda tell: self.publish(units, tell))
        require(outcome == Outcome(), f"a run that nothing disturbs fails: {outcome.refused}")

    # ---- what must hold ---------------------------------------------------------------------------------------------

    def examine(self) -> None:
        """Compare the store and the output with what was noted."""
        links, entries = self._reread()
        facts = [fact for entry in entries for fact in entry.facts]
        doubles = [t for t, count in self.drawn.items() if count > 1]
        require(not doubles, f"t={doubles} was drawn twice")
        require(max(self.drawn, default=0) <= len(links), "a unit was drawn, and the store knows nothing of it")
        decided = {entry.t for entry in entries if entry.cause is Cause.DECIDED}
        require(decided <= self.drawn.keys(), "a release was never drawn")
        lost = [entry.t for entry in entries if entry.cause is Cause.LOST]
        require(all(_is_spent(entries[:t]) for t in lost), "a unit was lost, and its charge is not spent")
        require(all(links[t - 1] == link for t, link in self.shown.items()), "a release that was shown has changed")
        require(recount_one_by_one(facts, LAW) <= LAW.epsilon, "a window is overspent")
        with Archive(self.store, head=self.folder / HEAD) as archive:
            verify_file(archive)
            verify(archive, STREAM)
        rows = [line.split(",") for line in self.output.read_text(encoding="utf-8").splitlines()[1:]]
        written = [(int(row[1]), row[-1]) for row in rows]
        require(written == list(enumerate(links, start=1)), "what was written is not what is stored")

    def _reread(self) -> tuple[list[str], list[Entry]]:
        """The chain, followed with nothing of the store's own code: its links, and what its records say."""
        with closing(sqlite3.connect(self.store)) as connection:
            (link,) = connection.execute("SELECT link FROM streams").fetchone()
            rows = connection.execute("SELECT t, link, body FROM releases ORDER BY t").fetchall()
        links, entries = list[str](), list[Entry]()
        for i, (t, stored, body) in enumerate(rows, start=1):
            link = hashlib.sha256(link + body).digest()
            require((t, stored) == (i, link), f"the chain breaks at t={i}")
            links.append(link.hex())
            entries.append(unpack(body))
        return links, entries


def _is_spent(entries: Sequence[Entry]) -> bool:
    """Whether nothing is left in the window that ends with the last of these units, counted from its charges alone."""
    last = len(entries)
    facts = [fact for entry in entries for fact in entry.facts]
    spans = {fact.key: fact for fact in facts if isinstance(fact, Span)}  # the closing of each, if there is one
    paid = sum(fact.e.nano for fact in facts if isinstance(fact, Point) and fact.t > last - LAW.window)
    met = [span.e.nano for span in spans.values() if span.b is None or span.b > last - LAW.window]
    return paid + sum(met) == LAW.epsilon.nano


def require(holds: bool, otherwise: str) -> None:
    """Raise CheckFailed unless something holds."""
    if not holds:
        raise CheckFailed(f"{otherwise}.")


def empty(folder: Path) -> None:
    """Make a folder that holds nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def copy_files(source: Path, target: Path) -> None:
    """The files of one folder in another, and nothing else there."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


class _Counts:
    """The same stream every time: counts that rest, and jump now and then."""

    bins = BINS
    live = False

    def __init__(self, last: int) -> None:
        self._last = last

    def snapshots(self, calendar: Calendar) -> Iterator[Snapshot]:
        for t in range(1, self._last + 1):
            yield Snapshot(t, np.random.default_rng(t // 5).integers(0, 500, len(BINS)))

    def close(self) -> None:
        """Nothing to let go of."""


def _work(work: Callable[[Tell], None], writing: int) -> NoReturn:
    """The life of a child: do it, and say how it ended. Nothing it does reaches the parent in any other way."""

    def tell(line: str) -> None:
        os.write(writing, f"{line}\n".encode())

    try:
        work(tell)
        tell("done")
    except PenstockError as fault:
        tell(f"refused {' '.join(str(fault).split())}")
    except BaseException as fault:
        where = " > ".join(
            f"{Path(each.filename).name}:{each.lineno}" for each in traceback.extract_tb(fault.__traceback__)
        )
        tell(f"broke {type(fault).__name__}: {fault}, at {where}")
    finally:
        os._exit(0)


def _outcome(told: list[str], killed: bool) -> Outcome:
    what, _, rest = (told[-1] if told else "").partition(" ")
    require(what != "broke", f"a process ended in a traceback ({rest})")
    require(killed or what in ("done", "refused"), "a process ended without a word")
    return Outcome(rest if what == "refused" else "", killed)
