"""Originals that are CSV already, with a time and a number in every row."""

from __future__ import annotations

import csv
import io
from datetime import datetime

from penstock.bench.originals.tables import Table, decoded, one_bin, other_format, whole

UNEMPLOYED = "LNU03000018"


def unemployment(body: bytes) -> Table:
    """The months of a series of FRED, which calls its first column ``observation_date``, or ``DATE`` in older files.

    >>> unemployment(b"observation_date,LNU03000018\\n1972-01-01,247\\n").counts.tolist()
    [[247]]
    """
    what = f"the series {UNEMPLOYED} of FRED as CSV"
    times, counts = _columns(body, ({"observation_date", "DATE"}, UNEMPLOYED), what)
    return one_bin([time.date().isoformat() for time in times], UNEMPLOYED, counts)


def taxi(body: bytes) -> Table:
    """Passengers of taxis by half hours, from the Numenta Anomaly Benchmark.

    >>> taxi(b"timestamp,value\\n2014-07-01 00:00:00,10844\\n").labels
    ['2014-07-01T00:00:00']
    """
    times, counts = _columns(body, ({"timestamp"}, "value"), "the file nyc_taxi.csv of NAB")
    return one_bin([time.isoformat() for time in times], "passengers", counts)


def _columns(body: bytes, names: tuple[set[str], str], what: str) -> tuple[list[datetime], list[int]]:
    """Times, in order, and counts; a month or a half hour without a count is no such original."""
    try:
        header, *rows = csv.reader(io.StringIO(decoded(body, what)), strict=True)
        pairs = [(datetime.fromisoformat(time), whole(count, what)) for time, count in rows]
    except (ValueError, csv.Error):
        raise other_format(what) from None
    times = [time for time, _ in pairs]
    if not pairs or len(header) != 2 or header[0] not in names[0] or header[1] != names[1] or times != sorted(times):
        raise other_format(what)
    return times, [count for _, count in pairs]
