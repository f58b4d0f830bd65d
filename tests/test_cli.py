"""The command line, as a user calls it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app

COMMAND = [str(Path(sys.executable).parent / "penstock")]


def penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_demo_shows_a_table_and_a_picture(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "--steps", "60", "--w", "10", "--picture", str(tmp_path / "demo.png")])
    assert result.exit_code == 0, result.output
    shown = {key for key, kind in ps.mechanisms().items() if ps.WEvent in kind.proven_for}
    assert shown < ps.mechanisms().keys()
    assert all(f" {key} " in result.output for key in shown)
    assert any("⠀" <= character <= "⣿" for character in result.output)
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_mechanisms_lists_them_all() -> None:
    result = CliRunner().invoke(app, ["mechanisms"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert result.output.count("proved") == len(ps.mechanisms())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("demo", "--epsilon", "0"), "epsilon must be above 0"),
        (("demo", "--w", "0"), "must be a whole number of 1 or more"),
        (("demo", "--kind", "sesonal"), "a synthetic stream is one of"),
    ],
)
def test_an_error_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    result = penstock(*arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_version() -> None:
    assert penstock("--version").stdout.startswith("penstock ")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("nowhere/demo.png", "there is no folder nowhere"),
        ("demo.foo", "of one of these kinds"),
        ("demo", "of one of these"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_at_once(path: str, sentence: str) -> None:
    result = penstock("demo", "--picture", path)
    assert result.returncode == 2
    assert sentence in result.stderr
