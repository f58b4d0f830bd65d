"""Requests to the web site of the World Cup of 1998, from the binary logs of the Internet Traffic Archive.

A log is a row of records of 20 bytes, big-endian, one a request. There are 27 gigabytes of them in 245 parts, so that
each part is counted on its own, a piece at a time, and only what is counted is kept.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.bench.originals.tables import Table, one_bin, other_format
from penstock.errors import BadInput
from penstock.types import Ints

WHAT = "a log of the World Cup of 1998"
RECORD = np.dtype([("time", ">u4"), ("client", ">u4"), ("page", ">u4"), ("size", ">u4"), ("rest", "V4")])
RECORDS_AT_ONCE = 2**18
MINUTE, HOUR = 60, 3600
FIRST_DAY, FIRST_BUSY_DAY, LAST_BUSY_DAY, LAST_DAY = 5, 38, 80, 92  # nothing was recorded on the first four
BUSY = "2 2 2 2 1 1 3 3 8 8 7 4 4 9 6 6 6 5 3 3 6 7 7 8 10 4 3 9 11 5 3 7 3 2 3 6 6 3 2 2 2 4 2"  # parts of a day
PARTS_OF_DAYS = dict(zip(range(FIRST_BUSY_DAY, LAST_BUSY_DAY + 1), map(int, BUSY.split()), strict=True))
PARTS = tuple(
    f"wc_day{day}_{part}.gz"
    for day in range(FIRST_DAY, LAST_DAY + 1)
    for part in range(1, PARTS_OF_DAYS.get(day, 1) + 1)
)
BEGIN, END = (int(np.datetime64(day, "s").astype(np.int64)) for day in ("1998-04-26", "1998-07-28"))


class Tally(NamedTuple):
    """How often every minute, and every page in an hour, occurs in a log. A page's key is ``hour << 32 | page``."""

    minutes: Ints
    requests: Ints
    keys: Ints
    hits: Ints


def tally(log: BinaryIO | gzip.GzipFile) -> Tally:
    """Count a log, in memory that does not grow with it."""
    total = _added([])
    while body := log.read(RECORDS_AT_ONCE * RECORD.itemsize):
        if len(body) % RECORD.itemsize:
            raise other_format(WHAT)
        records = np.frombuffer(body, RECORD)
        time = records["time"].astype(np.int64)
        if time.min() < BEGIN or time.max() >= END:
            raise other_format(WHAT)
        minutes, requests = np.unique(time // MINUTE, return_counts=True)
        keys, hits = np.unique(time // HOUR << 32 | records["page"].astype(np.int64), return_counts=True)
        total = _added([total, Tally(minutes, requests, keys, hits)])
    return total


def condensed(body: BinaryIO) -> bytes:
    """What is kept of a packed log."""
    try:
        with gzip.GzipFile(fileobj=body) as log:
            counted = tally(log)
    except (OSError, EOFError, zlib.error):
        raise other_format(WHAT) from None
    if not counted.minutes.size:
        raise other_format(WHAT)
    return _packed(counted._asdict())


def files(pieces: Iterable[bytes]) -> dict[str, bytes]:
    """The files of what is kept of all logs."""
    total = _added([_unpacked(piece) for piece in pieces])
    hours = by_hour(total)
    return {
        "worldcup98_minute.csv.gz": gzip.compress(by_minute(total).as_csv(), mtime=0),
        "worldcup98_hour.csv": hours.as_csv(),
        "worldcup98_pages.npz": _packed(_sparse(total, hours)),
    }


def by_minute(total: Tally) -> Table:
    """Requests in every minute from the first one recorded to the last."""
    counts = np.zeros(total.minutes[-1] - total.minutes[0] + 1, np.int64)
    counts[total.minutes - total.minutes[0]] = total.requests
    return one_bin(_times(total.minutes[0], len(counts), "m"), "requests", counts)


def by_hour(total: Tally) -> Table:
    """Requests in every hour that was recorded whole."""
    first, last = _whole_hours(total)
    places = total.minutes * MINUTE // HOUR - first
    inside = (places >= 0) & (places <= last - first)
    counts = np.zeros(last - first + 1, np.int64)
    np.add.at(counts, places[inside], total.requests[inside])
    return one_bin(_times(first, len(counts), "h"), "requests", counts)


def pages_by_hour(path: Path) -> tuple[list[str], Iterator[Ints]]:
    """The numbers of all pages, and a row of requests to each of them for every hour of ``worldcup98_hour.csv``."""
    try:
        with path.open("rb") as file, np.load(file) as kept:
            pages, starts, page, hits = (kept[name] for name in ("pages", "starts", "page", "hits"))
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        raise BadInput(f"{path} is not a file of pages by hours; fetch worldcup98 again.") from None
    return [str(each) for each in pages.tolist()], _rows(len(pages), starts, page, hits)


def _rows(bins: int, starts: Ints, page: NDArray[np.uint32], hits: NDArray[np.uint32]) -> Iterator[Ints]:
    for begin, end in pairwise(starts.tolist()):
        row = np.zeros(bins, np.int64)
        row[page[begin:end]] = hits[begin:end]
        yield row


def _sparse(total: Tally, hours: Table) -> dict[str, NDArray[np.generic]]:
    """Requests by hour and page without the zeros: ``starts`` says where the pages of each hour begin."""
    first, last = _whole_hours(total)
    begin, end = np.searchsorted(total.keys, (first << 32, (last + 1) << 32))
    keys, hits = total.keys[begin:end], total.hits[begin:end]
    starts = np.searchsorted(keys, np.arange(first, last + 2) << 32)
    page = (keys & (2**32 - 1)).astype(np.uint32)
    pages = np.unique(page)
    page = np.searchsorted(pages, page).astype(np.uint32)
    counts = {"pages": pages, "page": page, "hits": hits.astype(np.uint32)}
    return {"hours": np.array(hours.labels), "starts": starts, **counts}


def _whole_hours(total: Tally) -> tuple[int, int]:
    """The first and the last hour of which every minute lies between the first and the last one recorded."""
    first, last = -(-total.minutes[0] * MINUTE // HOUR), (total.minutes[-1] + 1) * MINUTE // HOUR - 1
    if first > last:
        raise other_format(WHAT)
    return int(first), int(last)


def _times(first: int, steps: int, unit: str) -> list[str]:
    """So many consecutive minutes or hours of Greenwich time."""
    times = np.datetime64(int(first), unit) + np.arange(steps)  # type: ignore[call-overload]
    return [str(time) for time in times]


def _added(tallies: list[Tally]) -> Tally:
    empty = Tally(*(np.zeros(0, np.int64) for _ in Tally._fields))
    minutes, requests, keys, hits = (np.concatenate(arrays) for arrays in zip(empty, *tallies, strict=True))
    return Tally(*_summed(minutes, requests), *_summed(keys, hits))


def _summed(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Every key once, in order, with the sum of its counts."""
    if not keys.size:
        return keys, counts
    order = np.argsort(keys, kind="stable")  # fast where parts of it are in order already
    keys, counts = keys[order], counts[order]
    firsts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    return keys[firsts], np.add.reduceat(counts, firsts)


def _packed(arrays: dict[str, NDArray[np.generic]]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _unpacked(piece: bytes) -> Tally:
    with np.load(io.BytesIO(piece)) as kept:
        return Tally(*(kept[name] for name in Tally._fields))
