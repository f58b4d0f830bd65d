"""Malformed inputs of every kind that a command reads: rows, releases, settings, arguments, paths.

Each is malformed by construction, and each holds counts that begin with ``MARK``, by which they are known wherever they
turn up. The folder that a command works in holds a stream of three units; see ``penstock.audit.malformed``.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

MARK = "77"
UNITS = 3  # that are published already
BINS = ("a", "b")
OPTIONS = {
    "--output": "out.csv",
    "--store": "s.db",
    "--stream": "s",
    "--model": "w-event",
    "--epsilon": "1",
    "--w": "10",
    "--mechanism": "uniform",
}


class Malformed(NamedTuple):
    """A command and the files that it is given; None makes a folder of a name, an empty name a link to itself."""

    about: str
    files: dict[str, bytes | str | None]
    arguments: list[str]


Make = Callable[[np.random.Generator], Malformed]


def run_on(source: str, **changed: str) -> list[str]:
    """A run of the stream, with some options changed."""
    options = {"--input": source} | OPTIONS | {f"--{name.replace('_', '-')}": text for name, text in changed.items()}
    return ["run", *(word for pair in options.items() for word in pair)]


def table(rows: list[list[str]], *, line_end: str = "\n") -> str:
    """Rows as text."""
    return "".join(",".join(row) + line_end for row in rows)


def rows_of(rng: np.random.Generator, units: int = UNITS) -> list[list[str]]:
    """A header, and rows of counts that can be told from other numbers."""
    counts = rng.integers(10_000, 99_999, (units, len(BINS)))
    return [["t", *BINS], *([str(t + 1), *(f"{MARK}{count}" for count in row)] for t, row in enumerate(counts))]


def _choice(rng: np.random.Generator, among: list[Any]) -> Any:
    return among[int(rng.integers(len(among)))]


# ---- rows of counts ------------------------------------------------------------------------------------------------

BAD_COUNTS = ["", " ", "x", "1_000", "-1", "0.5", "NaN", "inf", "-inf", "9223372036854775808", "9007199254740993"]
BAD_COUNTS += ["0x10", "7 7", "1e400", "7'000", "1e-3", "\u0663x", "True", "None", "9" * 5000, "\u00bd", "+-1"]
BAD_TIMES = ["", "2026-13-01", "2026-02-30", "0000-01-01", "9" * 20, "4.5", "four", "2026-W54", "24:61", "\x07", "-1"]
BAD_TIMES += ["2026-12-31T23:59:60", "1", "3", "100000", "2026-11-15", "4\u200b", "0"]
BAD_HEADERS = ["t,a,a", "t,a,", "t", "", "t,a,b\x07", "1,5,6", "t,a,c", "a,t,b", "t,b,a", "t,a,b,c", "t;a;b", "\x00"]


def bad_count(rng: np.random.Generator) -> Malformed:
    """A cell that is no count."""
    rows, bad = rows_of(rng, UNITS + 1), _choice(rng, BAD_COUNTS)
    rows[-1][int(rng.integers(1, 3))] = bad
    return Malformed(f"the count {bad[:30]!r}", {"in.csv": table(rows)}, run_on("in.csv"))


def bad_time(rng: np.random.Generator) -> Malformed:
    """A time that has no place in the stream."""
    rows, bad = rows_of(rng, UNITS + 1), _choice(rng, BAD_TIMES)
    rows[-1][0] = bad
    return Malformed(f"the time {bad!r}", {"in.csv": table(rows)}, run_on("in.csv"))


def bad_header(rng: np.random.Generator) -> Malformed:
    """A first line that does not name the time and the bins of the stream."""
    rows, bad = rows_of(rng), _choice(rng, BAD_HEADERS)
    return Malformed(f"the header {bad!r}", {"in.csv": table([[bad], *rows[1:]])}, run_on("in.csv"))


def bad_row(rng: np.random.Generator) -> Malformed:
    """A row that is cut short, too long, or not closed."""
    rows = rows_of(rng, UNITS + 1)
    bad = _choice(rng, [rows[-1][:2], [*rows[-1], "5"], ['"4', *rows[-1][1:]], ["4"], rows[-1] * 50])
    return Malformed(f"a row of {len(bad)} cells", {"in.csv": table([*rows[:-1], bad])}, run_on("in.csv"))


def bad_bytes(rng: np.random.Generator) -> Malformed:
    """A file that is not the text that its name promises."""
    text = table(rows_of(rng))
    kinds: dict[str, tuple[str, bytes]] = {
        "UTF-16": ("in.csv", text.encode("utf-16")),
        "packed": ("in.csv", gzip.compress(text.encode())),
        "not packed": ("in.csv.gz", text.encode()),
        "packed and cut short": ("in.csv.gz", gzip.compress(text.encode())[:-9]),
        "Latin-1": ("in.csv", text.replace("a", "\u00e4").encode("latin-1")),
        "noise": ("in.csv", rng.bytes(400) + b"\xff"),
        "zeros": ("in.csv", bytes(4096)),
        "empty": ("in.csv", b""),
        "a blank line": ("in.csv", b"\n\n"),
        "old line ends": ("in.csv", table(rows_of(rng), line_end="\r").encode()),
    }
    about = _choice(rng, sorted(kinds))
    name, content = kinds[about]
    return Malformed(about, {name: content}, run_on(name))


def bad_object(rng: np.random.Generator) -> Malformed:
    """A line that is no object of a time and counts."""
    lines = [json.dumps(dict(zip(rows_of(rng)[0], [int(x) for x in row], strict=True))) for row in rows_of(rng)[1:]]
    bad = _choice(rng, BAD_OBJECTS)
    content = "\n".join([*lines, bad]) + "\n"
    return Malformed(f"the line {bad[:40]!r}", {"in.jsonl": content}, run_on("in.jsonl"))


BAD_OBJECTS = ["{", "[4, 5, 6]", "4", '"t"', '{"t": 4}', '{"t": 4, "a": 5, "b": 6, "c": 7}']
BAD_OBJECTS += [f'{{"t": 4, "a": 5, "b": {bad}}}' for bad in ("null", "true", '"x"', "NaN", "-1", "0.5", "[5]")]
BAD_OBJECTS += ['{"t": 4, "a": 5, "a": 6}', '{"t": 4, "a": 5, "b": 1e400}', '{"t": 4, "a": 5, "b": Infinity}']
BAD_OBJECTS += ["[" * 100_000, '{"a":' * 100_000, f'{{"t": 4, "a": 5, "b": {"9" * 5000}}}', '{"t": "", "a": 5, "b": 6}']
BAD_OBJECTS += ['{"t": null, "a": 5, "b": 6}', '{"t": [4], "a": 5, "b": 6}', '{"t": 4, "a": 5, "\\ud800": 6}', "null"]


def bad_parquet(rng: np.random.Generator) -> Malformed:
    """A Parquet file that is damaged, or whose columns are no times and counts."""
    arrow = import_module("pyarrow")
    count = [7_712_345] * UNITS
    columns: dict[str, dict[str, Any]] = {
        "text": {"t": [1, 2, 3], "a": count, "b": ["x", "y", "z"]},
        "nothing": {"t": [1, 2, 3], "a": count, "b": [None] * UNITS},
        "lists": {"t": [1, 2, 3], "a": count, "b": [[1], [2], [3]]},
        "truths": {"t": [1, 2, 3], "a": count, "b": [True] * UNITS},
        "parts": {"t": [1, 2, 3], "a": count, "b": [0.5] * UNITS},
        "too early": {"t": arrow.array([-(10**17)] * UNITS, arrow.timestamp("us")), "a": count, "b": count},
        "no bins": {"t": [1, 2, 3]},
    }
    about = _choice(rng, [*columns, "cut short", "flipped", "only a name"])
    content = _as_parquet(arrow.table(columns.get(about, {"t": [1, 2, 3], "a": count, "b": count})))
    if about == "cut short":
        content = content[: int(rng.integers(1, len(content)))]
    elif about == "flipped":  # in a count, over which there is a checksum
        place = content.index(count[0].to_bytes(8, "little")) + int(rng.integers(8))
        content = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
    elif about == "only a name":
        content = b"PAR1"
    return Malformed(f"Parquet: {about}", {"in.parquet": content}, run_on("in.parquet"))


def _as_parquet(rows: Any) -> bytes:
    file = io.BytesIO()
    write = import_module("pyarrow.parquet").write_table
    write(rows, file, write_page_checksum=True, write_statistics=False, compression="none", use_dictionary=False)
    return file.getvalue()


# ---- settings, arguments, paths ------------------------------------------------------------------------------------

SETTINGS = {"input": "in.csv", "output": "out.csv", "store": "s.db", "stream": "s", "mechanism": "uniform"}
BAD_SETTINGS = ["x", "= 1", "a = [[[", "[model", 'input = "in.csv', "input = 5", "gaps = 1", "width = true"]
BAD_SETTINGS += ["mechanism = 5", "time = 1"]
BAD_SETTINGS += ["unknown = 1", "epsilon = 1", "width = 0", "width = -3", "every = 5", 'every = "fortnight"']
BAD_SETTINGS += ["a = " + "[" * 5000, "x = " + "9" * 5000, 'population_epsilon = "1"', 'input_format = "xls"']
WORDS = ("input", "output", "store", "stream", "key", "head", "population", "presence")
BAD_SETTINGS += [f'{key} = "a\\u0000b"' for key in WORDS]
BAD_MODELS = ['"w-event"', "5", "[]", "{epsilon = 1, w = 5}", '{name = "nobody", epsilon = 1}']
BAD_MODELS += [f'{{name = "w-event", epsilon = {e}, w = 10}}' for e in ("nan", "inf", '"x"', "true", "1e400", "-1")]
BAD_MODELS += [
    f'{{name = "w-event", epsilon = 1, w = {w}}}' for w in ("1.5", "-1", '"ten"', "0", "99999999999999999999")
]
BAD_MODELS += ['{name = "event-level", epsilon = 1, w = 5}']


def bad_settings(rng: np.random.Generator) -> Malformed:
    """A TOML file that means nothing."""
    about = _choice(rng, BAD_SETTINGS)
    told = {key: f'"{value}"' for key, value in SETTINGS.items() if key != about.split(" ")[0]}
    model = '{name = "w-event", epsilon = 1, w = 10}'
    text = "\n".join([about, *(f"{key} = {value}" for key, value in told.items()), f"model = {model}", ""])
    return Malformed(f"the setting {about[:40]!r}", {"run.toml": text}, ["run", "run.toml"])


def bad_model(rng: np.random.Generator) -> Malformed:
    """A TOML file whose model is none."""
    about = _choice(rng, BAD_MODELS)
    text = "\n".join([*(f'{key} = "{value}"' for key, value in SETTINGS.items()), f"model = {about}", ""])
    return Malformed(f"the model {about}", {"run.toml": text}, ["run", "run.toml"])


BAD_OPTIONS = [("epsilon", each) for each in ("0", "-1", "nan", "inf", "1e9", "x", "", "1/0")]
BAD_OPTIONS += [("epsilon", "9" * 5000), ("epsilon", "1e-30"), ("horizon", "5"), ("presence", "in.csv")]
BAD_OPTIONS += [("w", each) for each in ("0", "-1", "1.5", "x", "", "9223372036854775808")]
BAD_OPTIONS += [("every", each) for each in ("0d", "-1", "1 fortnight", "", "\u0663x", "9" * 30, "1e3")]
BAD_OPTIONS += [("width", each) for each in ("0", "-1", "x")] + [("input_format", "xls"), ("output_format", "xls")]
BAD_OPTIONS += [("set", each) for each in ("x", "=1", "warm_up=1", "histogram=5", "shape=[[[[", "a=" + "[" * 5000)]
BAD_OPTIONS += [("time", "nowhere"), ("model", "nobody"), ("mechanism", "nobody"), ("neighbours", "x")]
BAD_OPTIONS += [("population", " "), ("population_epsilon", "1"), ("stream", " "), ("per_unit", "0")]


def bad_option(rng: np.random.Generator) -> Malformed:
    """An option that has a value which it cannot have."""
    name, value = _choice(rng, BAD_OPTIONS)
    return Malformed(f"--{name} {value[:20]!r}", {"in.csv": table(rows_of(rng))}, run_on("in.csv", **{name: value}))


BAD_PATHS: dict[str, tuple[dict[str, bytes | str | None], str]] = {
    "a folder": ({"place.csv": None}, "place.csv"),
    "a link to itself": ({"loop.csv": ""}, "loop.csv"),
    "a name that is too long": ({}, "n" * 300 + ".csv"),
    "a folder that is not there": ({}, "nowhere/x.csv"),
    "a file as a folder": ({}, "s.db/x.csv"),
    "a text": ({"notes.csv": f"shopping,{MARK}12345\n"}, "notes.csv"),
}


def bad_path(rng: np.random.Generator) -> Malformed:
    """A path at which there is nothing that can be used so."""
    about, option = _choice(rng, sorted(BAD_PATHS)), _choice(rng, ["input", "output", "store", "key", "head"])
    files, path = BAD_PATHS[about]
    content = {"in.csv": table(rows_of(rng, UNITS + 1))} | files
    return Malformed(f"--{option}: {about}", content, run_on("in.csv", **{option: path}))


# ---- what other commands read --------------------------------------------------------------------------------------

READERS = [["query"], ["query", "--sum"], ["table"], ["post", "--round", "5"]]
STORE_READERS = [["ledger", "show"], ["ledger", "verify"], ["statement"], ["export", "--stream", "s"], ["key", "lost"]]
STORE_READERS += [["key", "rotate"], ["ledger", "adopt", "--stream", "s", "--yes"]]


def bad_releases(rng: np.random.Generator) -> Malformed:
    """A file that holds no releases, read by what works on them."""
    text = table(rows_of(rng))
    kinds: dict[str, bytes] = {
        "counts": text.encode(),
        "nothing": b"",
        "UTF-16": text.encode("utf-16"),
        "packed": gzip.compress(text.encode()),
        "zeros": bytes(4096),
        "lines of another kind": b'{"values": 5}\n',
    }
    about, command = _choice(rng, sorted(kinds)), _choice(rng, READERS)
    name = _choice(rng, ["r.csv", "r.jsonl", "r.parquet"])
    return Malformed(f"{command[0]} of {about} in {name}", {name: kinds[about]}, [command[0], name, *command[1:]])


def bad_store(rng: np.random.Generator) -> Malformed:
    """Something else than a store, where a store is read."""
    kinds: dict[str, bytes | str | None] = {
        "a text": table(rows_of(rng)),
        "an empty file": b"",
        "a folder": None,
        "a link to itself": "",
        "the beginning of a database": b"SQLite format 3\0" + rng.bytes(500),
    }
    about, command = _choice(rng, sorted(kinds)), _choice(rng, STORE_READERS)
    return Malformed(f"{command[0]} of {about}", {"x.db": kinds[about]}, [*command, "x.db"])


def bad_points(rng: np.random.Generator) -> Malformed:
    """Points that are none, or arguments that fit no points."""
    cells = ["x", "", "nan", "inf", "1_0", "1e400"]
    told = {"--domain": "0..100", "--step": "5", "--radius": "2", "--epsilon": "1"}
    wrong = [("--domain", "100..0"), ("--domain", "x"), ("--step", "0"), ("--radius", "-1"), ("--epsilon", "0")]
    rows, about = ["age", f"{MARK}.12345", "5"], _choice(rng, [*cells, *wrong])
    if isinstance(about, tuple):
        told |= dict([about])
    else:
        rows += [about or '""']
    options = [word for pair in told.items() for word in pair]
    words = ["publish", "histogram", "p.csv", *options, "--size-is-public", "--store", "s.db", "--stream", "p"]
    return Malformed(f"publish {about!r}", {"p.csv": "\n".join(rows) + "\n"}, words)


FAMILIES: tuple[Make, ...] = (
    bad_count,
    bad_time,
    bad_header,
    bad_row,
    bad_bytes,
    bad_object,
    bad_parquet,
    bad_settings,
    bad_model,
    bad_option,
    bad_path,
    bad_releases,
    bad_store,
    bad_points,
)
