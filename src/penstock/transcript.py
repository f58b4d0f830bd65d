"""The answers a mechanism got, in order: taken down as they are given, or played back in place of an answer.

Whatever a mechanism publishes, decides and pays is a function of its transcript. So a step can be run again without the
counts it was made from, which is how checks look for leaks and how a publisher takes up its work after a restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

from penstock.desk import Question
from penstock.errors import PenstockError

T = TypeVar("T")


class Recorder:
    """Answers truthfully and keeps a copy."""

    def __init__(self) -> None:
        self.tape: deque[tuple[Question, Any]] = deque()

    def __call__(self, question: Question, compute: Callable[[], T]) -> T:
        answer = compute()
        self.tape.append((question, _copied(answer)))
        return answer


class Player:
    """Answers from a tape, without computing anything. ``mark`` says what of a question is on the tape to compare."""

    def __init__(
        self, tape: Iterable[tuple[Any, Any]], mark: Callable[[Question], Any], otherwise: PenstockError
    ) -> None:
        self.tape = deque(tape)
        self._mark = mark
        self._otherwise = otherwise

    def __call__(self, question: Question, compute: Callable[[], T]) -> T:
        if not self.tape or self.tape[0][0] != self._mark(question):
            raise self._otherwise
        return cast("T", _copied(self.tape.popleft()[1]))  # whoever gets it may write into it


def _copied(answer: Any) -> Any:
    return np.copy(answer) if isinstance(answer, np.ndarray) else answer
