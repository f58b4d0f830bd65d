"""Releases that a command is given: a file of them, standard input, or a stream in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock import streams
from penstock.cli.looking import looked_into
from penstock.cli.once import told
from penstock.errors import BadInput
from penstock.static.declared import COUNTING, is_once, publication_of
from penstock.store import Archive
from penstock.streams.lines import STANDARD
from penstock.types import Cause, Published

STORE_BEGINS = b"SQLite format 3\0"


@dataclass(frozen=True)
class Released:
    """Releases and the names of their values. They can be read once; ``units`` is the last, where that is known.

    ``intervals`` says that they may have some.
    """

    bins: tuple[str, ...]
    intervals: bool
    units: int | None
    after: Callable[[int], Iterator[Published]]  # the releases after a unit

    def __iter__(self) -> Iterator[Published]:
        return self.after(0)


@contextmanager
def released(
    path: str, stream: str | None = None, form: str | None = None, head: Path | None = None
) -> Iterator[Released]:
    """The releases of a file, of standard input ("-"), or of a stream in a store.

    A store with one stream need not be told which. Units that were published from a copy that is gone are left out.
    """
    if is_store(path):
        with looked_into(path, head) as archive:
            yield _stored(archive, _named(archive, stream))
        return
    if stream is not None or head is not None:
        raise BadInput(f"{path} is not a store; leave out --stream and --head, which are for stores.")
    with streams.read_releases(path, form=form) as written:
        yield Released(
            written.bins, written.intervals, None, lambda after: (each for each in written if each.t > after)
        )


def is_store(path: str) -> bool:
    """Whether a file is a database; what is no file at all is none."""
    if path == STANDARD or not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(STORE_BEGINS)) == STORE_BEGINS
    except OSError as fault:
        raise BadInput(f"the input {path} cannot be read: {fault.strerror}.") from None


def _named(archive: Archive, stream: str | None) -> str:
    names = list(archive.streams())
    if stream is None and len(names) != 1:
        known = ", ".join(f'"{name}"' for name in names) or "none"
        raise BadInput(f"the store {archive.path} has these streams: {known}; say with --stream which one is meant.")
    return names[0] if stream is None else stream


def _stored(archive: Archive, stream: str) -> Released:
    account, declared = archive.visible(stream), archive.streams()[stream]
    bins = tuple(declared["bins"])
    if is_once(declared):
        _require_counts(archive, stream)

    def after(unit: int) -> Iterator[Published]:
        releases = archive.published(account, after=min(max(unit, 0), account.t))
        return (release for release in releases if release.cause is not Cause.ADOPTED)

    return Released(bins, account.intervals, account.t, after)


def _require_counts(archive: Archive, stream: str) -> None:
    """Refuse a one-time publication of something else than counts, or one that was cut short."""
    if not isinstance(publication_of(told(archive, stream).declaration), COUNTING):
        raise BadInput(f'"{stream}" holds places of points, not counts; write them to a file with penstock export.')
