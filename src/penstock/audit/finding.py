"""Who finds a planted failure: one of the checks, or ``verify``, after a stream on which steps were cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from penstock import session
from penstock.audit.planted import Planted
from penstock.audit.recounted import MEMORY, NAMES, STREAM
from penstock.checks import CHECKS, Subject
from penstock.checks.catalogue import Check
from penstock.errors import BudgetExceeded, CheckFailed, StoreDamaged
from penstock.mechanisms.base import Mechanism
from penstock.store import Archive, Store
from penstock.store.verify import verify
from penstock.types import Release, Snapshot

# Units whose step is lost, fails, and is refused; between them the budget comes back.
LOST_AT, FAILED_AT, REFUSED_AT = 3, 13, 23
UNITS = 30


class Died(BaseException):
    """The process is gone; no handler catches it."""


def stumbling(kind: type[Mechanism]) -> type[Mechanism]:
    """A mechanism that asks all it has to ask, and then fails at one unit and is refused at another."""

    class Stumbling(kind):  # type: ignore[misc, valid-type]
        """Cut short after its questions."""

        def decide(self, snapshot: Snapshot) -> Release:
            release: Release = super().decide(snapshot)
            if snapshot.t == FAILED_AT:
                raise RuntimeError("it fails.")
            if snapshot.t == REFUSED_AT:
                raise BudgetExceeded("it asks for more than is left.")
            return release

    return Stumbling


def stumble(failure: type[Planted]) -> None:
    """Publish a stream whose steps are cut short, on the failure's kernel, and verify what is stored."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder, _curators(failure):
        path = Path(folder) / "store.db"
        with suppress(Died):
            _publish(failure, path, dies_at=LOST_AT)
        _publish(failure, path, dies_at=None)
        with Archive(path) as archive:
            try:
                verify(archive, STREAM)
            except StoreDamaged as fault:
                raise CheckFailed(str(fault)) from fault


def _publish(failure: type[Planted], path: Path, dies_at: int | None) -> None:
    """Go on with the stream, up to its end or until the process dies, after its draws and before they are stored."""
    subject, drawn = Subject(stumbling(failure), failure.under), list[str]()

    def at(point: str) -> None:
        drawn.extend([point] * (point == "draw"))
        if len(drawn) == dies_at:
            raise Died

    with Store(path, at=at) as store, failure.publisher(subject.make(), store, STREAM, bins=NAMES) as publisher:
        for t in range(publisher.t + 1, UNITS + 1):
            publisher.publish(Snapshot(t, np.full(len(NAMES), 100)))


@contextmanager
def _curators(failure: type[Planted]) -> Iterator[None]:
    """For as long as this lasts, sessions have curators of the failure's kernel."""
    sound = vars(session)["Curator"]
    setattr(session, "Curator", failure.kernel.curator)  # noqa: B010
    try:
        yield
    finally:
        setattr(session, "Curator", sound)  # noqa: B010


def _by_check(check: Check, failure: type[Planted]) -> None:
    check(failure.subject())


FINDERS: dict[str, Callable[[type[Planted]], None]] = {
    **{name: partial(_by_check, check) for name, check in CHECKS.items()},
    "verify": stumble,
}
