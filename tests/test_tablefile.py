"""Where tables of errors are kept: with a home folder, without one, and where nothing can be written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from penstock.allocation.tablefile import can_write, find_folder, read_table, write_table


def test_the_folder_for_caches_is_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_folder() == tmp_path / "penstock"


@pytest.mark.parametrize("told", [None, "", "relative/folder"])
def test_else_it_is_that_of_the_home(told: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is to be ignored, says the specification: it would be another folder everywhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if told is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", told)
    assert find_folder() == tmp_path / ".cache" / "penstock"


@pytest.mark.parametrize("home", ["/nonexistent/home", "not/absolute"])
def test_a_home_that_is_not_there_is_not_made(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    assert find_folder() is None


def test_who_has_no_home_at_all_has_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable, and no entry among the users of the system: as in a container with a number for a user."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert find_folder() is None


def test_a_folder_that_cannot_be_written_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_write(tmp_path / "new" / "folder")
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert not can_write(tmp_path / "file")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may be allowed everything
    assert not can_write(tmp_path)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table, path = np.arange(6.0).reshape(2, 3), tmp_path / "folder" / "table.npy"
    write_table(path, table)
    found = read_table(path, (2, 3))
    assert found is not None
    np.testing.assert_array_equal(found, table)
    assert read_table(path, (3, 2)) is None
    assert [each.name for each in path.parent.iterdir()] == ["table.npy"]
