"""What the names in a header may be: they are published, so a name that may be a count or a person is refused.

No refusal shows the name it suspects; it says in which column it stands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from penstock.errors import BadInput, BadRow
from penstock.parameters import nearest
from penstock.streams.labels import placed

TIMES = re.compile(r"^ts?$|time|date|day|week|month|quarter|year|hour|minute|period|^step$|^unit$", re.IGNORECASE)
NUMBER = r"[-+]?(?:\d+(?:[.,'\s]\d+)*|[.,]\d+)(?:[eE][-+]?\d+)?"
NUMBERS = re.compile(rf"\s*{NUMBER}\s*%?\s*")
# A piece of a line of JSON: an opening or closing brace at an end, or a quoted name and a colon.
JSON_PIECES = re.compile(r"\s*[\[]*\{|.*\}[\]]*\s*$|.*[\"']\s*:", re.DOTALL)
# A name and its value, as logs and YAML have them.
NAMED_VALUES = re.compile(r"[^=:]+[=:](.*)", re.DOTALL)
# What a spreadsheet that opens the published file would execute.
FORMULAS = re.compile(r"\s*(?:[=@]|[-+].*[(|!])")
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
IDENTIFYING = frozenset(
    ("id", "ids", "uid", "uuid", "guid", "userid", "ssn", "imei", "imsi", "msisdn", "dob", "birthdate")
)
PLACING = frozenset(
    ("lat", "latitude", "lon", "lng", "longitude", "latlon", "latlng", "postcode", "zipcode", "geohash")
)
# This many short names of one length are codes (of states, languages, airports), and one of them may read like a word.
CODES = 8
LONGEST_CODE = 3  # characters
# The names that tools give to the column of counts in a table with a row for every group.
MEASURES = frozenset({"count", "counts", "value", "values", "freq", "frequency", "n"})
LONG_TABLE = "make one row a time unit, with a column for every group"


def sounds_like_time(name: str) -> bool:
    """Whether a column of this name is likely to hold times."""
    return TIMES.search(name.strip()) is not None


def is_label(name: str) -> bool:
    """Whether a name looks like a time or a whole number, not like the name of a column."""
    try:
        placed(name.strip())
    except BadInput:
        return False
    return True


def looks_like_data(name: str) -> bool:
    """Whether a name looks like a value: a number, a time, a piece of JSON.

    >>> [looks_like_data(name) for name in ("31,337", '{"t": 1', ' "a": 5}', "2026-11-15", "0-4", "65+", "north")]
    [True, True, True, True, False, False, False]
    """
    return is_label(name) or NUMBERS.fullmatch(name) is not None or JSON_PIECES.match(name) is not None


def find_time(names: Sequence[str], time: str | None, source: str) -> int:
    """Where the time is: in the column called ``time``, else in the first.

    Counts that are taken for times, or for names, would be published. So where names look like counts, or another
    column sounds like the time, nothing is guessed.
    """
    suspect = [looks_like_data(name) for name in names]
    if time is not None and time not in names:
        raise BadInput(f"{source} has no column {time!r} for the time.{nearest(time, filter(_is_time_word, names))}")
    at = 0 if time is None else names.index(time)
    if suspect[at] or (time is None and _has_value(names[at])):
        raise BadRow(f"{source}: the first line looks like a row; it must name the time column and the bins.")
    if time is None and any(suspect):
        raise BadRow(
            f"{source}, column {suspect.index(True) + 1}: the first line looks like a row, because a number, a time or"
            " JSON stands here in place of a name; rename the column, or say with --time which one is the time if the"
            " line does hold names."
        )
    if time is None and not sounds_like_time(names[0]):
        _require_no_time(names, source)
    return at


def _has_value(name: str) -> bool:
    found = NAMED_VALUES.fullmatch(name)
    return found is not None and looks_like_data(found[1])


def _require_no_time(names: Sequence[str], source: str) -> None:
    """Refuse to take the first column for the time where another one sounds like it."""
    for column, name in enumerate(names, start=1):
        if sounds_like_time(name):
            which = f'the column "{name}"' if _is_time_word(name) else f"column {column}"
            raise BadInput(f"{source}: is the time in {which}? Say so with --time, as it is not the first.")


def _is_time_word(name: str) -> bool:
    """Whether a name sounds like time and holds no number, so that it can be shown before it is sure to be a name."""
    return sounds_like_time(name) and not any(map(str.isdigit, name))


def require_names(names: Sequence[str], time: int, source: str) -> None:
    """Refuse names that are there twice, and names of bins that are missing or not printable, by their columns.

    ``time`` is the place of the time among the names.
    """
    first: dict[str, int] = {}
    for column, name in enumerate(names, start=1):
        if first.setdefault(name, column) != column:
            raise BadRow(
                f"{source}, columns {first[name]} and {column} have the same name; give every column a name of its own"
                " in the first line."
            )
        if column != time + 1 and not (name.strip() and name.isprintable()):
            raise BadRow(f"{source}, column {column} has no name, or one that is not printable; name it, or remove it.")


def require_public(names: Sequence[str], time: int, source: str) -> None:
    """Refuse to begin a stream whose bins look like people, places, formulas, or groups that are listed in rows.

    ``time`` is the place of the time among the names.
    """
    bins = {column: name for column, name in enumerate(names, start=1) if column != time + 1}
    lengths = Counter(map(len, bins.values()))
    for column, name in bins.items():
        if FORMULAS.match(name):
            raise BadRow(f"{source}, column {column}: a spreadsheet takes this name for a formula; rename the column.")
        if _identifies(name) and (len(name) > LONGEST_CODE or lengths[len(name)] < CODES):
            raise BadRow(
                f"{source}, column {column}: by its name it tells who or where somebody is; leave it out, or rename it"
                " if it does hold counts of a group."
            )
    last = max(bins)
    if len(bins) > 1 and bins[last].strip().lower() in MEASURES:
        raise BadRow(
            f"{source}, column {last}: by its name it holds the counts of all groups; {LONG_TABLE}, or rename it if it"
            " is one group among others."
        )


def _identifies(name: str) -> bool:
    """Whether a name says that it identifies or locates somebody.

    >>> [_identifies(name) for name in ("user_id", "patientId", "pickup lat", "Idaho", "LatAm", "covid")]
    [True, True, True, False, False, False]
    """
    words = [word.lower() for word in WORDS.findall(name)]
    return not IDENTIFYING.isdisjoint(words) or (bool(words) and words[-1] in PLACING)
