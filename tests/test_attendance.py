"""Who is present, from a file beside the counts: matched by time, paid for by those listed, never stored by name."""

import base64
import csv
import gc
import gzip
import hashlib
import json
import logging
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, command, crash_at
from penstock.codec import decode
from penstock.sealing import open_sealed
from penstock.store import Archive
from penstock.store.verify import verify
from penstock.streams import Calendar, read
from penstock.types import Cause

fixed = settings(derandomize=True, deadline=None, max_examples=60)
few = settings(fixed, max_examples=25)

ANN, BOB, CLEO = "ann@example.org", "bob@example.org", "cleo@example.org"
IDS = (ANN, BOB, CLEO)
Crowds = dict[str, list[str]]  # time -> users


class Hall:
    """A folder with counts, a list of who is present, a store and an output, and the command at hand."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / "store.db"
        self.input, self.presence, self.output = folder / "in.csv", folder / "present.csv", folder / "out.csv"
        self.said: list[str] = []

    def counts(self, rows: dict[str, int]) -> None:
        """One bin."""
        self.input.write_text("t,a\n" + "".join(f"{label},{count}\n" for label, count in rows.items()))

    def lists(self, crowds: Crowds) -> None:
        self.presence.write_text("t,user\n" + "".join(f"{t},{user}\n" for t, here in crowds.items() for user in here))

    def crowds(self, crowds: Crowds) -> None:
        """Everybody is listed, and has one record."""
        self.counts({label: len(here) for label, here in crowds.items()})
        self.lists(crowds)

    def arguments(self, *more: object, m: int = 2, mechanism: str = "uniform", **paths: object) -> list[str]:
        given = {"input": self.input, "presence": self.presence, "output": self.output, "store": self.store} | paths
        law = ("--model", "m-context", "--m", m, "--epsilon", "1", "--mechanism", mechanism)
        return ["run", *(f"--{name}={path}" for name, path in given.items()), *map(str, (*law, *more))]

    def run(self, *more: object, stdin: str = "", **options: Any) -> tuple[int, str, str]:
        found = command(*self.arguments(*more, **options), stdin=stdin)
        self.said += found[1:]
        return found

    def fine(self, *more: object, **options: Any) -> list[dict[str, str]]:
        """It works; the releases."""
        code, _, err = self.run(*more, **options)
        assert code == 0, err
        return self.releases()

    def refused(self, *more: object, **options: Any) -> str:
        """One sentence without an id, exit code 2, nothing spent."""
        before = self.spent()
        code, out, err = self.run(*more, **options)
        assert (code, out, err[:7], len(err.splitlines())) == (2, "", "error: ", 1), err
        assert not any(user in err for user in IDS)
        assert self.spent() == before
        return err

    def spent(self) -> list[tuple[str, str]]:
        """Of every unit that is stored its charge."""
        if not self.store.exists():
            return []
        with Archive(self.store) as archive:
            names = archive.streams()
            stored = [release for name in names for release in archive.published(archive.account(name))]
        return [(release.label, str(release.charged)) for release in stored]

    def releases(self) -> list[dict[str, str]]:
        with self.output.open(newline="") as file:
            return list(csv.DictReader(file))

    def left(self) -> list[Fraction]:
        """What remained in each unit after it had paid, for whoever had paid the most."""
        return [Fraction(row["remaining"]) for row in self.releases()]

    def start(self, *more: object, **options: Any) -> "subprocess.Popen[str]":
        pipe, penstock = subprocess.PIPE, str(Path(sys.executable).parent / "penstock")
        arguments = self.arguments(*more, **options)
        return subprocess.Popen([penstock, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def put(pipe: IO[str] | None, text: str) -> None:
    assert pipe is not None
    pipe.write(text)
    pipe.flush()


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    yield Hall(tmp_path)
    gc.collect()


def left(crowds: Sequence[Sequence[str]], m: int = 2) -> list[Fraction]:
    """What Uniform leaves: an mth of epsilon at each of a user's last m presences, whoever has had the most of them."""
    found = []
    for t, here in enumerate(crowds):
        had = [sum(user in earlier for earlier in crowds[: t + 1]) for user in here]
        found.append(1 - Fraction(min(max(had, default=0), m), m))
    return found


CROWDS: Crowds = {"1": [ANN, BOB], "2": [BOB, CLEO], "3": [CLEO], "4": [], "5": [ANN]}
LEFT = [Fraction(part) for part in ("0.5", "0", "0", "1", "0")]
LINES = [(t, user) for t, here in CROWDS.items() for user in here]


# ---- ways to write it -----------------------------------------------------------------------------------------------


def as_csv(between: str = ",", end: str = "\n", header: str = "t,user") -> bytes:
    return (header + end + "".join(f"{t}{between}{user}{end}" for t, user in LINES)).encode()


def as_objects(numbers: bool = False) -> bytes:
    rows = [{"t": int(t) if numbers else t, "user": user} for t, user in LINES]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


WAYS: dict[str, tuple[str, bytes]] = {
    "plain": ("p.csv", as_csv()),
    "other name of the time": ("p.csv", as_csv(header="when it was,user")),
    "user first": ("p.csv", "".join(["user,t\n", *(f"{user},{t}\n" for t, user in LINES)]).encode()),
    "byte order mark": ("p.csv", b"\xef\xbb\xbf" + as_csv()),
    "carriage returns": ("p.csv", as_csv(end="\r\n")),
    "blank lines": ("p.csv", b"\n" + as_csv(end="\n\n")),
    "spaces": ("p.csv", as_csv(between=" , ", end="  \n", header=" t , user ")),
    "quotes": ("p.csv", b'"t","user"\n' + b"".join(f'"{t}","{user}"\n'.encode() for t, user in LINES)),
    "packed": ("p.csv.gz", gzip.compress(as_csv())),
    "objects": ("p.jsonl", as_objects()),
    "objects, times as numbers": ("p.jsonl", as_objects(numbers=True)),
    "objects, packed": ("p.ndjson.gz", gzip.compress(as_objects())),
    "objects, user first": ("p.jsonl", b"".join(f'{{"user":"{u}","t":{t}}}\n\n'.encode() for t, u in LINES)),
    "leading zeros": ("p.csv", b"t,user\n" + b"".join(f"00{t},{user}\n".encode() for t, user in LINES)),
}


@pytest.mark.parametrize("way", WAYS)
def test_however_it_is_written_those_listed_pay(hall: Hall, way: str) -> None:
    assert left(list(CROWDS.values())) == LEFT
    name, text = WAYS[way]
    hall.crowds(CROWDS)
    (hall.folder / name).write_bytes(text)
    hall.fine(presence=hall.folder / name)
    assert hall.left() == LEFT


TIMES: dict[str, tuple[list[str], list[str | None]]] = {
    "dates as times": (["2026-01-05", "2026-01-06", "2026-01-07"], ["2026-01-05T00:00", "2026-01-06 00:00:00", None]),
    "weeks": (["2026-W52", "2026-W53", "2027-W01"], [None, None, None]),
    "months": (["2026-11", "2026-12", "2027-01"], [None, None, None]),
    "zones": (["2026-01-05T01:00+01:00", "2026-01-05T02:00+01:00", "2026-01-05T03:00+01:00"], [
        "2026-01-05T00:00+00:00", "2026-01-05T01:00Z", None,
    ]),
    "clock": (["08:00", "08:30", "09:00"], ["08:00:00", None, None]),
    "signed numbers": (["-1", "0", "1"], [None, "-0", "+1"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TIMES)
def test_times_may_be_written_in_another_way(hall: Hall, kind: str) -> None:
    labels, otherwise = TIMES[kind]
    hall.counts(dict.fromkeys(labels, 1))
    hall.lists({other or label: [ANN] for label, other in zip(labels, otherwise, strict=True)})
    assert [row["t"] for row in hall.fine()] == labels
    assert hall.left() == [Fraction(1, 2), 0, 0]


@pytest.mark.parametrize(
    ("label", "listed"),
    [("2026-W02", "2026-01-05"), ("2026-01", "2026-01-01"), ("2026-01-05", "20260105"), ("1", "1.0")],
)
def test_times_of_another_kind_are_nobodys(hall: Hall, label: str, listed: str) -> None:
    hall.counts({label: 1})
    hall.lists({listed: [ANN]})
    no_time = "line 2: the time is neither a number nor a date"
    assert "the counts hold more records than the users present can have, and nobody" in (told := hall.refused()) or (
        listed == "1.0" and no_time in told
    )
    hall.lists({label: [ANN]})
    assert len(hall.fine()) == 1


texts = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6)
attendances = st.lists(st.lists(texts, unique=True, max_size=5), min_size=1, max_size=8)


@fixed
@given(crowds=attendances, form=st.sampled_from(["csv", "jsonl", "csv.gz", "jsonl.gz"]), later=st.booleans())
def test_what_is_listed_is_what_is_read(crowds: list[list[str]], form: str, later: bool, tmp_path_factory: Any) -> None:
    """Any ids, in their order; of units that are not in the counts, earlier or later ones, nobody."""
    folder = tmp_path_factory.mktemp("read")
    rows = [(t, user) for t, here in enumerate(crowds, start=-1) for user in here]
    opened: Callable[..., Any] = gzip.open if form.endswith("gz") else open
    with opened(folder / f"p.{form}", "wt", newline="", encoding="utf-8") as file:
        if "csv" in form:
            csv.writer(file).writerows([("t", "user"), *rows])
        else:
            file.writelines(json.dumps({"t": t, "user": user}) + "\n" for t, user in rows)
    times = range(1 if later else -1, len(crowds) + 3)
    (folder / "in.csv").write_text("t,a\n" + "".join(f"{t},0\n" for t in times))
    source = read(folder / "in.csv", presence=folder / f"p.{form}")
    found = {snapshot.label: snapshot.present for snapshot in source.snapshots(Calendar())}
    assert found == {str(t): tuple(crowds[t + 1]) if t < len(crowds) - 1 else () for t in times}


# ---- what cannot be used --------------------------------------------------------------------------------------------

GOOD = f"t,user\n1,{ANN}\n2,{ANN}\n2,{BOB}\n".encode()
SPOILT: dict[str, tuple[bytes, str, int]] = {
    "cut off, perhaps": (GOOD.rstrip(b"\n"), "present.csv, line 4 is not finished; end it with a line break", 0),
    # what the file holds, a part of the sentence, and how many units can be published before it
    "empty": (b"", "present.csv, line 1: who is present is listed in two columns", 0),
    "no header": (f"1,{ANN}\n2,{BOB}\n".encode(), "two columns; name the time as you like", 0),
    "other header": (GOOD.replace(b"user", b"person"), "two columns; name the time as you like", 0),
    "three columns": (GOOD.replace(b"user", b"user,age"), "two columns", 0),
    "user twice in the header": (b"user,user\n1,1\n", "two columns; name the time as you like", 0),
    "header only": (b"t,user\n", "at t=1 the counts hold more records than the users present can have", 0),
    "short row": (b"t,user\n1\n", "present.csv, line 2: a row has a time and a user", 0),
    "long row": (f"t,user\n1,{ANN},x\n".encode(), "present.csv, line 2: a row has a time and a user", 0),
    "no user": (b"t,user\n1, \n", "present.csv, line 2: the user is missing", 0),
    "listed twice": (f"t,user\n1,{ANN}\n1, {ANN}\n".encode(), "present.csv, line 3: this user is listed twice", 0),
    "not UTF-8": (b"t,user\n1,ann\xff\n", "present.csv, line 2 is not UTF-8 text", 0),
    "broken quotes": (b't,user\n1,"ann\n', "cannot be read as a row", 0),
    "time goes back": (f"t,user\n2,{ANN}\n1,{ANN}\n".encode(), "present.csv, line 3: the time goes back", 0),
    "somebody is not listed": (f"t,user\n1,{ANN}\n2,{ANN}\n".encode(), "at t=2 the counts hold more records", 1),
    "a unit is not listed": (f"t,user\n1,{ANN}\n".encode(), "at t=2 the counts hold more records", 1),
}  # fmt: skip


@pytest.mark.parametrize("how", SPOILT)
def test_a_list_that_cannot_be_used_costs_nothing_and_once_mended_the_run_goes_on(hall: Hall, how: str) -> None:
    text, sentence, published = SPOILT[how]
    hall.counts({"1": 1, "2": 2})
    hall.presence.write_bytes(text)
    code, _, err = hall.run("--check")
    assert (code, sentence in err, hall.store.exists()) == (2, True, False), err
    code, out, err = hall.run()
    assert (code, out, sentence in err, len(err.splitlines())) == (2, "", True, 1), err
    assert len(hall.spent()) == published
    hall.presence.write_bytes(GOOD)
    hall.fine()
    assert hall.left() == [Fraction(1, 2), 0]
    assert "lost" not in [row["cause"] for row in hall.releases()]


@pytest.mark.parametrize("user", ["7.5", "true", "null", '""', '" "', '["a"]', '{"id": "ann@example.org"}'])
def test_a_user_is_text_or_a_whole_number(hall: Hall, user: str) -> None:
    hall.counts({"1": 1, "2": 1})
    listed = hall.folder / "p.jsonl"
    listed.write_text(f'{{"t": 1, "user": {user}}}\n')
    assert "p.jsonl, line 1: the user is missing" in hall.refused(presence=listed)
    listed.write_text('{"t": 1, "user": 7}\n{"t": 2, "user": "7"}\n')
    hall.fine(presence=listed)
    assert hall.left() == [Fraction(1, 2), 0]  # they are one


def test_a_list_is_a_file_of_lines_of_its_own(hall: Hall) -> None:
    hall.crowds(CROWDS)
    assert "presence and input are the same file" in hall.refused(presence=hall.input)
    (hall.folder / "link.csv").symlink_to(hall.input)
    assert "presence and input are the same file" in hall.refused(presence=hall.folder / "link.csv")
    assert "the same file" in hall.refused(presence=hall.output)
    assert "the same file" in hall.refused(presence=hall.store)
    assert "a file of lines" in hall.refused(presence="-")
    assert "a file of lines" in hall.refused(presence="-", input="-")
    assert "is not there, or is not a file" in hall.refused(presence=hall.folder / "none.csv")
    assert "a file of lines, .csv or .jsonl" in hall.refused(presence=hall.folder / "present")
    (hall.folder / "p.csv.gz").write_bytes(b"not packed at all")
    assert "the file is damaged" in hall.refused(presence=hall.folder / "p.csv.gz")
    (hall.folder / "cut.csv.gz").write_bytes(gzip.compress(as_csv())[:-12])
    assert not hall.store.exists()
    assert "the file is damaged" in hall.run(presence=hall.folder / "cut.csv.gz")[2]
    assert [label for label, _ in hall.spent()] in ([], ["1"], ["1", "2"])
    hall.fine()
    assert hall.left() == LEFT


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (("--m", "0"), "1 or more; got 0"),
        (("--max-users", "0"), "max_users must be a whole number of 1 or more"),
        (("--mechanism", "ma", "--set", "k=0"), "k must be a whole number from 1 to 10000"),
        (("--mechanism", "mmd", "--set", "memory=0"), "memory must be a whole number from 1 to 10000"),
        (("--mechanism", "adj", "--set", "k=2"), "Adj has no parameter 'k'"),
        (("--mechanism", "spas"), "SPAS is not proven for m-context; choose one of adj, ma, mmd, uniform."),
        (("--neighbours", "add-remove"), 'neighbours must be "replace"'),
        (("--w", "3"), "no parameter 'w'"),
    ],
)
def test_parameters_that_cannot_work_are_refused_before_there_is_a_store(
    hall: Hall, told: tuple[str, ...], sentence: str
) -> None:
    hall.crowds(CROWDS)
    assert sentence in hall.refused(*told)
    assert not hall.store.exists()
    hall.fine()


def test_a_list_is_asked_for_under_m_context_only(hall: Hall) -> None:
    hall.crowds(CROWDS)
    files = (f"--input={hall.input}", f"--store={hall.store}", f"--output={hall.output}", "--epsilon=1")
    for more, sentence in (
        (("--model", "w-event", "--w", "3", f"--presence={hall.presence}"), "is for m-context; under w-event leave it"),
        (("--model", "m-context", "--m", "3", "--mechanism", "ma"), "list them in a file: --presence"),
        (("--model", "w-event", "--w", "3", "--max-users", "4"), "max_users"),
    ):
        code, out, err = command("run", *files, *more)
        assert (code, out, sentence in err, len(err.splitlines())) == (2, "", True, 1), err
    assert not hall.store.exists()


def test_a_toml_file_names_the_list_beside_it(hall: Hall) -> None:
    hall.crowds(CROWDS)
    lines = ['input = "in.csv"', 'presence = "present.csv"', 'output = "out.csv"', 'store = "store.db"']
    law = ["[mechanism]", 'name = "uniform"', "[model]", 'name = "m-context"', "epsilon = 1", "m = 2", "max_users = 3"]
    config = hall.folder / "bus.toml"
    config.write_text("\n".join(lines + law))
    assert command("run", config, "--check")[0] == 0
    assert command("run", config)[0] == 0
    assert hall.left() == LEFT
    config.write_text("\n".join(["presence = 3", *lines[:1], *lines[2:], *law]))
    code, _, err = command("run", config)
    assert (code, "presence in bus.toml has a value of the wrong kind" in err) == (2, True)
    config.write_text("\n".join([*lines, "[model]", 'name = "w-event"', "epsilon = 1", "w = 2"]))
    code, _, err = command("run", config)
    assert (code, "is for m-context" in err) == (2, True)


# ---- in Python ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ps.MA, ps.Adj, ps.MMD, ps.Uniform])
def test_a_stream_without_presence_or_with_too_few_is_refused_and_one_that_is_mended_goes_on(kind: Any) -> None:
    model = ps.MContext(epsilon=1, m=2, max_users=2)
    curator = ps.Curator(model, 1)
    mechanism = kind(model=model).start(curator)
    for present, sentence in (
        (None, "needs the users present in every time unit"),
        ([], "list everybody who is present"),
        ([ANN, BOB, CLEO], "more than the declared 2 users"),
    ):
        with pytest.raises(ps.BadInput, match=sentence) as caught:
            curator.check(ps.Snapshot(1, [2], present=present))
        assert not any(user in str(caught.value) for user in IDS)
    with pytest.raises(ps.BadInput, match="a user is listed twice in one time unit"):
        ps.Snapshot(1, [2], present=[ANN, ANN])
    assert (curator.ledger.t, curator.ledger.sequence) == (0, 0)
    snapshot = ps.Snapshot(1, [2], present=[ANN, BOB])
    curator.check(snapshot)
    assert mechanism.step(snapshot).charged
    for stream in (ps.streams.Stream([[1]]), ps.streams.Stream([[1]], presence=[[]])):
        with pytest.raises(ps.BadInput):
            next(ps.publish(stream, kind(model=model)))


def test_a_snapshot_with_its_users_is_otherwise_the_same() -> None:
    before = ps.Snapshot(3, [4, 5], label="2026-W03")
    after = before.attended(iter([ANN, BOB]))
    assert (after.t, after.bins, after.label, after.present) == (3, 2, "2026-W03", (ANN, BOB))
    assert before.present is None
    assert not any(user in f"{after!r}{after}" for user in IDS)
    for wrong in ([ANN, ANN], [1, 2], [b"ann"]):
        with pytest.raises(ps.BadInput):
            before.attended(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("records", "per_unit", "fits"), [(6, 3, True), (7, 3, False), (2, 1, True), (3, 1, False)])
def test_as_many_records_as_those_present_can_have(records: int, per_unit: int, fits: bool) -> None:
    curator = ps.Curator(ps.MContext(epsilon=1, m=2, per_unit=per_unit), 2)
    snapshot = ps.Snapshot(1, [records - 1, 1], present=[ANN, BOB])
    if fits:
        curator.check(snapshot)
    else:
        with pytest.raises(ps.BadInput, match=r"^at t=1 the counts hold more records than the users present can have;"):
            curator.check(snapshot)


def test_one_record_too_many_is_one_too_many_however_many_there_are() -> None:
    """As floats 2**53 + 1 of them would pass for 2**53."""
    curator = ps.Curator(ps.MContext(epsilon=1, m=1, per_unit=2**53), 2)
    with pytest.raises(ps.BadInput, match="more records than the users present can have"):
        curator.check(ps.Snapshot(1, [2**53, 1], present=[ANN]))


# ---- units that do not fit together ---------------------------------------------------------------------------------


def test_units_the_counts_do_not_have_are_passed_over(hall: Hall) -> None:
    hall.counts({"2": 1, "3": 1})
    hall.lists({"-3": [BOB], "1": [ANN, BOB], "2": [ANN], "3": [BOB], "4": [ANN], "9": [CLEO]})
    hall.fine()
    assert hall.left() == [Fraction(1, 2), Fraction(1, 2)]


def test_with_gaps_a_unit_without_counts_is_nobodys_presence(hall: Hall) -> None:
    """Whoever is listed in it has nothing read; it is neither paid for nor does it bring anything back."""
    hall.counts({"1": 1, "2": 1, "5": 1})
    hall.lists({"1": [ANN], "2": [BOB], "3": [ANN], "4": [ANN], "5": [ANN]})
    hall.run()
    assert "2 time units are missing" in hall.refused()
    hall.fine("--gaps")
    assert [row["cause"] for row in hall.releases()] == ["decided", "decided", "missing", "missing", "decided"]
    assert hall.left()[-1] == 0


def test_who_is_listed_between_two_units_is_not_passed_over_in_silence(hall: Hall) -> None:
    """Counts by the week, a list by the day: bob's record of Tuesday is in the week's counts.

    Rows whose time lies between two consecutive units are dropped. Nobody's presence is where they
    say, so bob is published and does not pay; the number of records does not tell, as per_unit allows ann alone both.
    """
    hall.counts({"2026-01-05": 2, "2026-01-12": 1})
    hall.lists({"2026-01-05": [ANN], "2026-01-06": [BOB], "2026-01-12": [BOB]})
    code, _, err = hall.run("--per-unit", 2)
    assert code == 2, f"bob was there before, has paid nothing, and finds {hall.left()[-1]} left; {err}"


def test_a_list_out_of_order_is_refused_before_anybody_is_passed_over(hall: Hall) -> None:
    """If t=1 were published before line 5 is read, nobody would remember that cleo has not paid for it."""
    hall.counts({"1": 1, "2": 1, "3": 1})
    hall.presence.write_text(f"t,user\n1,{ANN}\n2,{BOB}\n3,{BOB}\n1,{CLEO}\n")
    assert "line 5: the time goes back" in hall.refused()
    hall.lists({"1": [ANN, CLEO], "2": [BOB], "3": [BOB], "4": [CLEO]})
    hall.counts({"1": 1, "2": 1, "3": 1, "4": 1})
    hall.fine()
    assert hall.left()[-1] == 0, "cleo was listed at t=1 and at t=4, and has paid once"


def test_a_bad_line_is_found_before_anything_is_published(hall: Hall) -> None:
    hall.counts(dict.fromkeys("12345", 1))
    hall.presence.write_text("t,user\n" + "".join(f"{t},{ANN}\n" for t in range(1, 5)) + "5,\n")
    assert "present.csv, line 6: the user is missing" in hall.refused()
    assert hall.spent() == []


# ---- names instead of times -----------------------------------------------------------------------------------------


def test_units_may_be_just_names(hall: Hall) -> None:
    hall.crowds({"mon": [ANN], "tue": [ANN, BOB], "day three": [BOB], "thu": []})
    hall.fine("--every", "row")
    assert hall.left() == [Fraction(1, 2), 0, 0, 1]


def test_names_in_another_order_are_nobodys(hall: Hall) -> None:
    hall.counts({"mon": 1, "tue": 1})
    hall.lists({"tue": [ANN], "mon": [ANN]})
    assert "at t=2 (tue) the counts hold more records" in hall.run("--every", "row")[2]
    assert [label for label, _ in hall.spent()] == ["mon"]
    hall.lists({"mon": [ANN], "tue": [ANN]})
    hall.fine("--every", "row")


def test_a_name_that_comes_twice_in_the_list_loses_nobody(hall: Hall) -> None:
    """If the second lot were passed over, cleo would be published and not pay."""
    hall.counts({"mon": 1, "tue": 1})
    hall.presence.write_text(f"t,user\nmon,{ANN}\ntue,{BOB}\nmon,{CLEO}\n")
    code, _, err = hall.run("--every", "row")
    assert (code, hall.spent()) == (2, []), f"cleo is listed, and was passed over in silence; {err}"


def test_names_that_look_like_numbers_are_names_in_the_list_too(hall: Hall) -> None:
    """With --every row weeks 52, 1, 2 are names, and go back in no time."""
    hall.crowds({"51": [ANN], "52": [BOB], "1": [ANN], "2": [CLEO]})
    hall.fine("--every", "row")
    assert hall.left() == [Fraction(1, 2), Fraction(1, 2), 0, Fraction(1, 2)]


def test_a_first_line_that_is_a_row_is_not_taken_for_the_header(hall: Hall) -> None:
    """Somebody whose id is "user" must not stand in for a header, and be passed over."""
    hall.counts({"1": 1, "2": 1})
    hall.presence.write_text(f"1,user\n1,{ANN}\n2,user\n")
    assert hall.run()[0] == 2, f"the first line is a row; at t=2 the user finds {hall.left()[-1]} left"


def test_an_id_that_cannot_be_written_is_refused_in_one_sentence(hall: Hall) -> None:
    """Half a surrogate pair, as cut-off JSON has it."""
    hall.counts({"1": 1})
    listed = hall.folder / "p.jsonl"
    listed.write_text('{"t": 1, "user": "ann\\ud83d"}\n')
    hall.refused(presence=listed)


# ---- many users, and many lines -------------------------------------------------------------------------------------


def test_more_users_than_declared_are_refused_by_a_check_and_by_a_run(hall: Hall) -> None:
    hall.crowds(CROWDS)
    code, _, err = hall.run("--max-users", 2)
    assert (code, "more than the declared 2 users have been present; raise max_users" in err) == (2, True)
    assert [label for label, _ in hall.spent()] == ["1"]
    hall.refused("--max-users", 2)


def test_a_check_counts_the_users(hall: Hall) -> None:
    """It reads everything as a run would, and calls nothing fine that a run refuses."""
    hall.crowds(CROWDS)
    assert hall.run("--check", "--max-users", 2)[0] == 2


def test_max_users_can_be_raised_as_the_refusal_says(hall: Hall) -> None:
    """Which is what the refusal says to do."""
    hall.crowds(CROWDS)
    hall.run("--max-users", 2)
    hall.fine("--max-users", 3)
    assert hall.left() == LEFT


def test_memory_does_not_grow_with_the_length_of_the_list(tmp_path: Path) -> None:
    def peak(units: int) -> int:
        (tmp_path / "in.csv").write_text("t,a\n" + "".join(f"{t},0\n" for t in range(1, units + 1)))
        with (tmp_path / "p.csv").open("w") as file:
            file.write("t,user\n")
            file.writelines(f"{t},user {t} {i}\n" for t in range(1, units + 1) for i in range(100))
        tracemalloc.start()
        source = read(tmp_path / "in.csv", presence=tmp_path / "p.csv")
        seen = sum(len(snapshot.present or ()) for snapshot in source.snapshots(Calendar()))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert seen == 100 * units
        return most

    peak(5)
    assert peak(200) < 3 * peak(20)  # ten times, if it were held


# ---- again, and live ------------------------------------------------------------------------------------------------


def part(crowds: Crowds, times: str) -> Crowds:
    return {t: crowds[t] for t in times.split()}


@pytest.mark.parametrize(
    ("counts", "listed", "mechanism"),
    [
        ("1 2 3 4 5", "1 2 3 4 5", "uniform"),
        ("1 2 3 4 5", "4 5", "uniform"),
        ("4 5", "1 2 3 4 5", "uniform"),
        ("4 5", "4 5", "uniform"),
        ("4 5", "3 4 5", "ma"),
    ],
)
def test_a_second_run_takes_longer_files_or_the_new_lines(hall: Hall, counts: str, listed: str, mechanism: str) -> None:
    hall.crowds(part(CROWDS, "1 2 3"))
    hall.fine(mechanism=mechanism)
    first = hall.output.read_bytes()
    hall.counts({t: len(here) for t, here in part(CROWDS, counts).items()})
    hall.lists(part(CROWDS, listed))
    assert len(hall.fine(mechanism=mechanism)) == 5
    assert hall.output.read_bytes().startswith(first)
    if mechanism == "uniform":
        assert hall.left() == LEFT
    assert "nothing new" in hall.run(mechanism=mechanism)[2]


def test_names_go_on_too(hall: Hall) -> None:
    """With names only what is in the list can tell where it begins: the list has to begin where the counts do."""
    days: Crowds = {"mon": [ANN], "tue": [BOB], "wed": [ANN]}
    hall.crowds(part(days, "mon tue"))
    hall.fine("--every", "row")
    hall.crowds(days)
    hall.lists(part(days, "wed"))
    hall.fine("--every", "row")
    assert hall.left() == [Fraction(1, 2), Fraction(1, 2), 0]


def test_counts_from_a_pipe_come_with_a_list(hall: Hall) -> None:
    """Which goes on to a later unit: of the last one nobody can tell whether it is whole."""
    hall.lists(CROWDS)
    text = "t,a\n" + "".join(f"{t},{len(here)}\n" for t, here in CROWDS.items())
    code, out, err = hall.run(stdin=text, input="-", output="-")
    assert (code, len(out.splitlines())) == (2, len(CROWDS))
    assert "the list ends with this time unit" in err
    hall.lists({**CROWDS, "99": [ANN]})
    code, out, err = hall.run(stdin=text, input="-", output="-")
    assert code == 0, err
    assert [Fraction(row["remaining"]) for row in csv.DictReader(out.splitlines())] == LEFT
    assert hall.run(stdin=text, input="-", output="-")[1] == out


def test_a_live_pipe_answers_and_stops_when_told(hall: Hall) -> None:
    hall.lists({str(t): [ANN] for t in range(1, 9)})
    with hall.start(input="-", output="-", m=8) as child:
        assert child.stdout is not None
        put(child.stdin, "t,a\n")
        for t in (1, 2):
            put(child.stdin, f"{t},1\n")
            header = child.stdout.readline() if t == 1 else "t,"
            assert (header[:2], child.stdout.readline().split(",")[:2]) == ("t,", [str(t), str(t)])
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert (child.returncode, out, len(err.splitlines())) == (130, "", 1)
    hall.counts(dict.fromkeys(map(str, range(1, 6)), 1))
    hall.fine(m=8, stream="stream")
    assert hall.left() == [1 - Fraction(t, 8) for t in range(1, 6)]


def test_a_gap_in_a_live_list_is_refused_and_mended(hall: Hall) -> None:
    """The list ends before the counts do; what came before is published, and the rest after it was added."""
    hall.lists(part(CROWDS, "1 2") | {"99": [ANN]})
    text = "t,a\n" + "".join(f"{t},{len(here)}\n" for t, here in CROWDS.items())
    code, out, err = hall.run(stdin=text, input="-", output="-")
    assert (code, len(out.splitlines()), "at t=3 the counts hold more" in err) == (2, 3, True)
    hall.lists({**CROWDS, "99": [ANN]})
    out = hall.run(stdin=text, input="-", output="-")[1]
    assert [Fraction(row["remaining"]) for row in csv.DictReader(out.splitlines())] == LEFT


def test_a_last_line_that_is_still_being_written_is_not_somebody_else(hall: Hall) -> None:
    """Live counts, and a list whose last line is cut off: "ann@exam" pays, and ann does not.

    An unfinished last line of standard input is refused for just that reason.
    """
    hall.presence.write_text(f"t,user\n1,{ANN}\n2,{ANN[:8]}")
    code, out, err = hall.run(stdin="t,a\n1,1\n2,1\n", input="-", output="-")
    assert code == 2, f"ann has been there twice, and {out.splitlines()[-1].split(',')[6]} is left; {err}"


def test_the_list_is_taken_as_it_was_when_the_run_began(hall: Hall) -> None:
    """What is added while it is being read is for the next run, whether it would be in time or not."""
    hall.crowds({"1": [ANN], "2": [ANN], "3": [ANN]})
    seen = []
    for snapshot in read(hall.input, presence=hall.presence).snapshots(Calendar()):
        seen.append(snapshot.present)
        if snapshot.t == 1:
            with hall.presence.open("a") as file:
                file.write(f"3,{BOB}\n4,{BOB}\n")
    assert seen == [(ANN,), (ANN,), (ANN,)]


def test_a_name_has_one_budget_however_it_is_spelled(hall: Hall) -> None:
    """An accented letter in one piece, and as a letter with its accent beside it."""
    hall.counts({"1": 1, "2": 1})
    hall.presence.write_text("t,user\n1,Ren\u00e9\n2,Rene\u0301\n")
    hall.fine()
    assert hall.left() == [Fraction(1, 2), 0]
    hall.presence.write_text("t,user\n1,Ren\u00e9\n1,Rene\u0301\n")
    assert "listed twice" in hall.refused(store=hall.folder / "other.db", output=hall.folder / "other.csv")
    with pytest.raises(ps.BadInput, match="listed twice"):
        ps.Snapshot(1, [1], ["Ren\u00e9", "Rene\u0301"])


def test_one_name_is_no_list_of_users() -> None:
    """It would be as many users as it has letters."""
    with pytest.raises(ps.BadInput, match="put a single one into a list"):
        ps.Snapshot(1, [1], "ann")
    with pytest.raises(ps.BadInput, match="put a single one into a list"):
        list(ps.streams.Stream([[1]], presence=["ann"]))


def test_a_misspelt_model_is_what_is_wrong(hall: Hall) -> None:
    hall.crowds(CROWDS)
    assert "Did you mean m-context?" in hall.refused("--model", "mcontext")


@pytest.mark.parametrize("present", [[], ["ann"]])
def test_the_kernel_asks_nothing_of_records_that_nobody_pays_for(present: list[str]) -> None:
    mechanism = ps.MA(model=ps.MContext(epsilon=1, m=2)).start(ps.Curator(ps.MContext(epsilon=1, m=2), 2))
    with pytest.raises(ps.BadInput, match="at t=1 the counts hold more records than the users present can have"):
        mechanism.step(ps.Snapshot(1, [500, 500], present))
    assert mechanism._curator.ledger.sequence == 0
    assert mechanism.step(ps.Snapshot(1, [len(present), 0], present)).t == 1


# ---- crashes, keys and copies ---------------------------------------------------------------------------------------

UNITS = 8
POINTS = ("intent", "draw", "state", "write", "commit", "head", "emit")
MECHANISMS: list[Any] = [ps.Uniform, ps.MA, ps.Adj, ps.MMD]


def published(path: Path, model: ps.MContext, kind: Any, crowds: list[list[str]], until: int, die: str = "") -> None:
    """Publish up to a unit as one process, which dies in the last one if told to."""
    with ps.Store(path) as store:
        publisher = ps.Publisher(kind(model=model), store, "s", bins=["a", "b"])
        for t in range(publisher.t + 1, until + 1):
            store.at = crash_at(die if t == until else "")
            here = crowds[t - 1]
            publisher.publish(ps.Snapshot(t, [9 * (len(here) > 1), len(here)], present=here))
            store.at("emit")
        publisher.close()


def charges(path: Path) -> list[int | None]:
    """What each unit has cost, in nano-epsilon; nobody knows that of a lost one."""
    with Archive(path) as archive:
        verify(archive, "s")
        releases = list(archive.published(archive.account("s")))
    return [None if release.cause is Cause.LOST else release.charged.nano for release in releases]


def within_the_law(own: list[int | None], epsilon: int) -> bool:
    """Of one user's m presences: a lost one has taken whatever was left, so that nothing may be paid after it."""
    known = [0 if cost is None else cost for cost in own]
    return not sum(known[own.index(None) :]) if None in own else sum(known) <= epsilon


@settings(few, max_examples=8, phases=[Phase.generate])
@given(
    crowds=st.lists(st.lists(st.sampled_from(IDS), unique=True), min_size=UNITS, max_size=UNITS),
    m=st.integers(1, 3),
    deeds=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", *POINTS])), min_size=1, max_size=4),
    kind=st.sampled_from(MECHANISMS),
)
def test_whatever_dies_nobody_pays_more_than_epsilon(
    crowds: list[list[str]], m: int, deeds: list[tuple[int, str]], kind: Any, tmp_path_factory: Any
) -> None:
    model, path, t = ps.MContext(epsilon=1, m=m, per_unit=10), tmp_path_factory.mktemp("deeds") / "db", 0
    for more, point in deeds:
        t = min(t + more, UNITS)
        with suppress(Crash):
            published(path, model, kind, crowds, t, point)
    published(path, model, kind, crowds, UNITS)
    cost = charges(path)
    assert len(cost) == UNITS
    for user in IDS:
        own = [cost[t] for t, here in enumerate(crowds) if user in here]
        assert all(within_the_law(own[i : i + m], ps.Epsilon(1).nano) for i in range(len(own)))


@pytest.mark.parametrize("kind", MECHANISMS)
def test_after_a_lost_unit_a_user_spends_again_at_the_mth_presence(kind: Any, tmp_path: Path) -> None:
    """And nothing before; somebody whose list nobody remembers is taken to have been there as well."""
    model, crowds = ps.MContext(epsilon=1, m=3, per_unit=10), [[ANN]] * 2 + [[ANN]] * 4 + [[BOB]] + [[ANN]]
    with pytest.raises(Crash):
        published(tmp_path / "db", model, kind, crowds, 2, "draw")
    published(tmp_path / "db", model, kind, crowds, 8)
    with Archive(tmp_path / "db") as archive:
        releases = list(archive.published(archive.account("s")))
    assert [release.cause is Cause.LOST for release in releases] == [False, True, *[False] * 6]
    assert [bool(release.charged) for release in releases] == [True, True, False, False, True, True, False, True]


def test_a_changed_key_changes_nothing_and_a_lost_one_lets_everybody_have_paid(hall: Hall) -> None:
    hall.crowds(part(CROWDS, "1 2"))
    hall.fine()
    assert command("key", "rotate", hall.store)[0] == 0
    hall.crowds(part(CROWDS, "1 2 3"))
    hall.fine()
    assert hall.left() == LEFT[:3]
    key = hall.folder / "store.db.key"
    key.unlink()
    crowds = {**part(CROWDS, "1 2 3"), "4": ["dan"], "5": [ANN, "dan"], "6": ["dan"], "7": [ANN]}
    hall.crowds(crowds)
    assert "key" in hall.refused()
    assert command("key", "lost", hall.store)[0] == 0
    hall.fine()
    assert [row["charged"] for row in hall.releases()[3:]] == ["0", "0", "0.5", "0.5"]
    assert command("ledger", "verify", hall.store, "--output", hall.output)[0] == 0


def test_an_old_copy_is_refused_and_once_adopted_everybody_has_paid(hall: Hall) -> None:
    hall.crowds(part(CROWDS, "1 2"))
    hall.fine()
    assert command("backup", hall.store, hall.folder / "copy.db")[0] == 0
    hall.crowds(part(CROWDS, "1 2 3"))
    hall.fine()
    shutil.copy(hall.folder / "copy.db", hall.store)
    (hall.folder / "store.db-journal").unlink(missing_ok=True)
    hall.crowds({**part(CROWDS, "1 2 3"), "4": [ANN], "5": [ANN]})
    code, _, err = hall.run()
    assert (code, len(err.splitlines())) == (2, 1), err
    assert command("ledger", "adopt", hall.store, "--stream", "in", "--yes")[0] == 0
    hall.fine()
    assert [row["charged"] for row in hall.releases()[-2:]] == ["0", "0.5"]


def test_a_ledger_shows_charges_and_nobody(hall: Hall) -> None:
    hall.crowds(CROWDS)
    hall.fine(mechanism="ma")
    for arguments in (("show", hall.store), ("show", hall.store, "--stream", "in"), ("verify", hall.store)):
        for more in ((), ("--json",)):
            code, out, err = command("ledger", *arguments, *more)
            assert (code, any(user in out + err for user in IDS)) == (0, False)
    found = json.loads(command("ledger", "verify", hall.store, "--json")[1])[0]
    assert (found["units"], found["lost"], found["fullest protected set"]) == (5, 0, "sealed")


def test_what_was_not_recounted_is_not_called_verified(hall: Hall) -> None:
    """Who was present is sealed, so nobody can say here what each of them has paid."""
    hall.crowds(CROWDS)
    hall.fine()
    code, out, err = command("ledger", "verify", hall.store)
    assert (code, "sealed" in out + err) == (0, True)
    assert "no protected set is overspent" not in " ".join((out + err).split())


# ---- nobody's name --------------------------------------------------------------------------------------------------


def traces(user: str) -> list[bytes]:
    """Ways in which an id could be recognised by whoever knows it."""
    name = user.encode()
    shown = [name, name.hex().encode(), base64.b64encode(name)[:-4], user.encode("utf-16-le"), name.split(b"@")[0]]
    for kind in ("md5", "sha1", "sha256"):
        digest = hashlib.new(kind, name).digest()
        shown += [digest[:12], digest.hex().encode()[:24]]
    return shown


def nowhere(found: bytes, where: object) -> None:
    for user in IDS:
        assert not any(trace in found for trace in traces(user)), where


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name not in ("in.csv", "present.csv")]


def test_ids_are_in_no_file_and_in_no_message(hall: Hall, caplog: pytest.LogCaptureFixture) -> None:
    """Not even in what was sealed, opened with the key."""
    caplog.set_level(logging.DEBUG)
    hall.crowds(CROWDS)
    hall.fine("--json", mechanism="mmd")
    hall.presence.write_text(f"t,user\n6,{ANN}\n6,{ANN}\n")
    hall.counts({"6": 1})
    hall.run(mechanism="mmd")
    hall.lists({"6": [ANN, BOB, CLEO]})
    hall.counts({"6": 9})
    hall.run(mechanism="mmd")
    for arguments in (("verify", hall.store), ("show", hall.store, "--stream", "in", "--json")):
        hall.said += command("ledger", *arguments)[1:]
    hall.said += command("export", hall.store, "--stream", "in", "-o", hall.folder / "all.csv")[1:]
    nowhere("".join([*hall.said, caplog.text]).encode(), "what was said")
    assert {"store.db", "store.db.key", "store.db.head", "out.csv", "all.csv"} <= {p.name for p in files(hall.folder)}
    for path in files(hall.folder):
        nowhere(path.read_bytes(), path.name)
    with Archive(hall.store) as archive:
        state = archive.state(archive.account("in"))
    assert state is not None
    key = bytes.fromhex((hall.folder / "store.db.key").read_text().strip())
    opened = open_sealed(state.sealed, key, beside=state.public)
    nowhere(opened, "what was sealed")
    assert len(decode(opened)["ledger"]["roll"]["marks"]) == 16 * len(IDS)


def test_ids_are_in_no_file_of_a_store_that_is_at_work_or_has_died(tmp_path: Path) -> None:
    model = ps.MContext(epsilon=1, m=3, per_unit=10)
    for point in POINTS:
        path = tmp_path / point
        path.mkdir()
        with ps.Store(path / "db") as store:
            publisher = ps.Publisher(ps.MA(model=model), store, "s", bins=["a"])
            publisher.publish(ps.Snapshot(1, [3], present=IDS), ahead=ps.Snapshot(2, [3], present=IDS))
            store.at = crash_at(point)
            with suppress(Crash):
                publisher.publish(ps.Snapshot(2, [3], present=IDS))
                store.at("emit")
            for found in files(path):
                nowhere(found.read_bytes(), found)
        for found in files(path):
            nowhere(found.read_bytes(), found)


def test_ids_stay_out_of_what_a_failed_step_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = ps.MContext(epsilon=1, m=2)
    with ps.Store(tmp_path / "db") as store:
        publisher = ps.Publisher(ps.Adj(model=model), store, "s", bins=["a"], noise=_Broken())
        release = publisher.publish(ps.Snapshot(1, [1], present=[ANN]))
        assert (release.cause, str(release.charged)) == (Cause.FAILED, "1")
        publisher.close()
    nowhere(caplog.text.encode(), "the log")


class _Broken(ps.SecureNoise):
    """Fails when it is needed, and says whom it has seen."""

    def laplace(self, scale: Fraction, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        raise RuntimeError(f"{ANN} was here")
