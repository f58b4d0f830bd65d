"""What commands say beside their results: help, bars, what is being prepared, and pictures without colours."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer.main
from rich.console import Console

import penstock as ps
from in_process import command
from penstock.allocation.risk import risks
from penstock.cli import picture
from penstock.cli.main import app

AUTO = ("--model", "w-event", "--epsilon", "1")


def paths_of(group: object, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command, by the words that call it."""
    found = [before]
    for name, each in getattr(group, "commands", {}).items():
        found += paths_of(each, (*before, name))
    return found


COMMANDS = paths_of(typer.main.get_command(app))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_a_short_option_for_its_help(words: tuple[str, ...]) -> None:
    assert len(COMMANDS) > 20
    short, long = command(*words, "-h"), command(*words, "--help")
    assert short == long
    assert (short[0], "Usage" in short[1]) == (0, True)


def test_mechanisms_are_found_where_names_are_looked_up() -> None:
    assert {"Auto", "SPAS", "Store", "streams", "__name__"} <= set(dir(ps))
    assert all(hasattr(ps, name) for name in dir(ps))


# ---- preparing -------------------------------------------------------------------------------------------------------


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text("t,a,b\n" + "".join(f"{t},{t},5\n" for t in range(1, 40)), encoding="utf-8")
    return path


def publish(rows: Path, name: str, w: int) -> tuple[int, str, str]:
    risks.cache_clear()
    files = ("--input", rows, "--output", rows.with_name(f"{name}.csv"), "--store", rows.with_name(f"{name}.db"))
    return command("run", *files, *AUTO, "--w", w)


def test_it_is_said_once_that_a_table_is_made_and_where_it_is_kept(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(rows.parent))
    folder = rows.parent / "penstock"
    said = f"preparing auto for 60 units: a table of errors is made once, and kept in {folder}."
    assert publish(rows, "first", 60)[2].splitlines()[0] == said
    assert len(list(folder.iterdir())) == 1
    assert "preparing" not in publish(rows, "second", 60)[2]
    assert "preparing" not in publish(rows, "quick", 4)[2]  # made in a moment


def test_without_a_home_it_is_said_what_to_set_and_all_is_published(
    rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    for name in ("first", "second"):
        code, _, err = publish(rows, name, 60)
        assert (code, "not kept, as there is no folder for it; set XDG_CACHE_HOME" in err) == (0, True)
    assert not Path("/nonexistent").exists()


# ---- bars ------------------------------------------------------------------------------------------------------------


def test_a_bar_tells_the_percentage_and_the_time_left(rows: Path) -> None:
    """At a terminal of 80 columns, for a file whose length is known."""
    rows.write_text("t,a\n" + "".join(f"{t},{t}\n" for t in range(1, 400)), encoding="utf-8")
    files = ["--input", str(rows), "--output", str(rows.with_name("o.csv")), "--store", str(rows.with_name("s.db"))]
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    arguments = [*files, *AUTO, "--w", "9", "--mechanism", "uniform"]
    with subprocess.Popen([sys.executable, "-m", "penstock", "run", *arguments], stderr=theirs, env=environment) as it:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
    os.close(ours)
    text = shown.decode()
    assert it.returncode == 0
    assert "/400" in text
    assert "%" in text
    assert "0:00:0" in text
    assert "done: stream" in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


# ---- pictures --------------------------------------------------------------------------------------------------------


def drawn(truth: list[float], release: list[float], width: int = 20, height: int = 6) -> list[str]:
    console = Console(width=80, no_color=True, force_terminal=False)
    with console.capture() as capture:
        console.print(picture.in_terminal(np.array(truth), np.array(release), width, height))
    return capture.get().splitlines()[:height]


def test_a_picture_can_be_read_without_colours() -> None:
    """A true count is filled blocks, a release is braille dots, and the legend shows both."""
    lines = drawn([10.0] * 40, [40.0] * 40)
    cells = [line[9:] for line in lines]
    assert all(0x2800 < ord(each) < 0x2900 for each in cells[0])
    assert set(cells[-1]) == {"█"}
    assert set("".join(cells[1:-2])) <= set(" " + picture.FILLED)
    legend = picture.legend().plain
    assert {"█", "⠒"} <= set(legend)
    assert "published" in legend
    assert "true" in legend


def test_an_area_is_as_high_as_the_count() -> None:
    full = drawn([48.0] * 20 + [24.0] * 20, [0.0] * 40)
    filled = ["".join(line[9:][column] for line in full).count("█") for column in (2, 17)]
    assert filled == [5, 2]  # the lowest row shows the release
