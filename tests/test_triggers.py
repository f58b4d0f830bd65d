"""Numbers in the code of a mechanism, and what is published at them."""

from dataclasses import dataclass

import numpy as np
import pytest

import penstock as ps
from penstock.audit.broken.late_leaker import LateLeaker
from penstock.audit.broken.one_victim import OneVictim
from penstock.audit.permissive import Unbound
from penstock.checks import Subject
from penstock.checks.triggers import LATEST_UNIT, UNITS_IN_A_ROW, _visited, no_number_opens_a_leak, numbers_in
from penstock.errors import CheckFailed

W, HORIZON = ps.WEvent(epsilon=1, w=5), ps.UserLevel(epsilon=1, horizon=70)
FOLDED = 30 * 37
LIMIT = 0.5


@dataclass(kw_only=True)
class SecretAnswer(Unbound):
    """Publishes the counts if an *answer* is a certain number, which stands in its code as a product."""

    def decide(self, snapshot: ps.Snapshot) -> ps.Release:
        release, counts = super().decide(snapshot), self.curator.look(snapshot)
        return self.released(snapshot, counts, ps.Kind.FRESH, 0.0) if release.values[0] == FOLDED else release


def test_numbers_are_read_from_code_with_fractions_rounded_either_way() -> None:
    numbers = numbers_in(SecretAnswer)
    assert {1110, 0, 1} <= set(numbers)
    assert 777 in numbers_in(OneVictim)
    assert 60 in numbers_in(LateLeaker)


def test_units_are_visited_in_a_row_and_around_numbers() -> None:
    visited = _visited((300, 10**6), LATEST_UNIT)
    assert visited == {*range(1, UNITS_IN_A_ROW + 1), 299, 300, 301}
    assert max(_visited((300,), 70)) == UNITS_IN_A_ROW


def test_a_leak_that_an_answer_opens_is_found() -> None:
    with pytest.raises(CheckFailed, match="other counts"):
        no_number_opens_a_leak(Subject(SecretAnswer, W, SecretAnswer.kernel))


@pytest.mark.parametrize("model", [W, HORIZON], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("key", ["uniform", "auto", "spas"])
def test_honest_mechanisms_pass(key: str, model: ps.PrivacyModel) -> None:
    no_number_opens_a_leak(Subject(ps.mechanism(key), model))


def test_units_in_between_are_passed_over() -> None:
    stream = ps.streams.Stream(np.full((9, 3), 5))
    subject = Subject(ps.mechanism("uniform"), W)
    releases = subject.run(stream, ps.ScriptedNoise(), missing={2, 3, 9})
    assert [release.t for release in releases if not release.charged] == [2, 3, 9]
