"""Transcripts: answers are taken down as copies, and played back in order or not at all."""

from typing import Any

import numpy as np
import pytest

from penstock.desk import Question
from penstock.errors import OutOfOrder
from penstock.transcript import Player, Recorder

FIRST, SECOND = (Question(verb, None, 0, None, ()) for verb in ("ask", "median"))
OFF_TAPE = OutOfOrder("the mechanism asks otherwise than before.")


def compute() -> Any:
    raise AssertionError("an answer is computed where one was on the tape")


def played(*tape: tuple[str, Any]) -> Player:
    return Player(tape, lambda question: question.verb, OFF_TAPE)


def test_answers_are_played_back_in_order_and_never_computed() -> None:
    player = played(("ask", 5), ("median", 7))
    assert (player(FIRST, compute), player(SECOND, compute)) == (5, 7)


def test_another_question_is_refused_and_so_is_one_beyond_the_tape() -> None:
    player = played(("ask", 5))
    for _ in range(2):
        with pytest.raises(OutOfOrder, match="asks otherwise than before"):
            player(SECOND, compute)
    assert player(FIRST, compute) == 5
    with pytest.raises(OutOfOrder, match="asks otherwise than before"):
        player(FIRST, compute)


def test_writing_into_an_answer_changes_no_transcript() -> None:
    """Neither what is taken down, nor what is played back again from the same tape."""
    recorder = Recorder()
    recorder(FIRST, lambda: np.array([1, 2]))[:] = 9
    question, kept = recorder.tape[0]
    assert question is FIRST
    assert kept.tolist() == [1, 2]
    player = played(("ask", kept))
    player(FIRST, compute)[:] = 9
    assert kept.tolist() == [1, 2]
