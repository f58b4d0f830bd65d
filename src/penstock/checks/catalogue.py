"""All checks by name."""

from __future__ import annotations

from collections.abc import Callable

from penstock.checks import behaviour, budget, coverage, drawing, lost, neighbours, replay, restart, triggers
from penstock.checks.subject import Subject

Check = Callable[[Subject], None]

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        behaviour.one_release_a_step,
        behaviour.same_seed_same_output,
        behaviour.exact_without_noise,
        behaviour.nothing_changes_afterwards,
        behaviour.refuses_bad_snapshots,
        behaviour.bounded_memory,
        behaviour.unproven_models_refused,
        behaviour.proof_is_current,
        behaviour.example_runs,
        budget.never_overspends,
        budget.every_draw_is_paid,
        budget.noise_is_as_claimed,
        drawing.draws_are_as_wide_as_asked,
        replay.non_interference,
        triggers.no_number_opens_a_leak,
        neighbours.same_on_neighbours,
        neighbours.no_answer_moves_further,
        restart.resumes_exactly,
        restart.resumes_soundly,
        lost.lost_steps_are_paid,
        coverage.asks_every_verb,
    )
}
