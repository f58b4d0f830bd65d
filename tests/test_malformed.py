"""Malformed inputs do no harm, and what would be harm is seen. ``make crash`` gives more of them."""

import subprocess
import sys

import pytest

from penstock.audit.malformed import UNFORESEEN, Ended, faults

SENTENCE = "error: in.csv is empty; its first line names the time column and the bins.\n"


def test_every_kind_of_malformed_input_ends_in_one_sentence() -> None:
    """In a process of its own, because the commands are forked."""
    command = [sys.executable, "-W", "error", "-m", "penstock.audit.malformed", "--cases", "28", "--seed", "5"]
    ordeal = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ordeal.returncode == 0, ordeal.stdout + ordeal.stderr
    assert "every folder is as it was" in " ".join(ordeal.stdout.split())


@pytest.mark.parametrize(
    ("ended", "about"),
    [
        (Ended(0, "done: 3 new releases.\n"), "it was taken for good"),
        (Ended(-14, SENTENCE), "it did not end by itself"),
        (Ended(1, f"Traceback (most recent call last):\n{SENTENCE}"), "it ended in a traceback"),
        (
            Ended(2, f"error: this is {UNFORESEEN}, a KeyError in x.py, line 5.\n"),
            "it ended in a traceback",
        ),
        (Ended(2, ""), "it did not end in one sentence"),
        (Ended(2, SENTENCE * 2), "it did not end in one sentence"),
        (Ended(2, "error: no\n"), "it did not end in one sentence"),
        (Ended(2, "error: 7712345 is not a whole number; mend it.\n"), "a count was printed"),
        (Ended(2, "error: 77.12345 is no point; mend it.\n"), "a count was printed"),
    ],
)
def test_what_would_be_harm_is_seen(ended: Ended, about: str) -> None:
    assert about in faults(ended, {}, {})
    assert not faults(Ended(2, SENTENCE), {}, {})


def test_a_folder_that_is_not_as_it_was_is_seen() -> None:
    folders: list[dict[str, bytes | None]] = [{"s.db": b"1"}, {"s.db": b"0", "x": b""}, {"s.db": None}, {}]
    for after in folders:
        assert faults(Ended(2, SENTENCE), {"s.db": b"0"}, after) == ["the folder is not as it was"]
