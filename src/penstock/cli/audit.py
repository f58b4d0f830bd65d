"""``penstock audit``: attack a mechanism, and see whether it loses more than it claims."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from penstock.audit import auditing
from penstock.audit.targets import audited
from penstock.audit.verdict import Verdict
from penstock.bench.trials import bar
from penstock.catalogue import mechanism as found
from penstock.catalogue import require_proven
from penstock.cli import options
from penstock.cli.console import as_json, results
from penstock.cli.settings import parameters_of
from penstock.drawing import require_drawable
from penstock.errors import BadInput
from penstock.laws import model_of
from penstock.models import PrivacyModel
from penstock.parameters import within

Trials = Annotated[int, typer.Option(help="Runs on each of the two streams of a pair.")]
Confidence = Annotated[float, typer.Option(help="How sure it is that all bounds hold.")]
Seed = Annotated[int | None, typer.Option(help="Noise of this seed, to repeat an audit; else the one that is shipped.")]
Workers = Annotated[int, typer.Option(help="Processes that share the work.")]
PROCESSORS = os.cpu_count() or 1


def audit(
    mechanism: options.Target,
    model: options.ModelName = None,
    epsilon: options.EpsilonText = None,
    w: options.W = None,
    horizon: options.Horizon = None,
    m: options.M = None,
    steps: options.Steps = None,
    neighbours: options.Neighbours = None,
    per_unit: options.PerUnit = None,
    parameters: options.Parameters = [],  # noqa: B006
    trials: Trials = 25_000,
    confidence: Confidence = 0.999,
    seed: Seed = None,
    workers: Workers = PROCESSORS,
    picture: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Attack a mechanism on pairs of neighbouring streams: does it lose more than it claims?

    Without a model the pairs are those its proof file states; with one, those of them that fit, or the usual ones.
    Exit code 1 if it loses more than it claims, or than its ledger has booked. A file of your own is run, so do not
    audit what you do not trust.
    """
    _require(trials, confidence, seed, workers, picture)
    told = {"w": w, "horizon": horizon, "m": m, "steps": steps, "neighbours": neighbours, "per_unit": per_unit}
    law = _law(options.law(model, epsilon=epsilon, **told))
    if law is not None:
        require_proven(found(mechanism), law)
    wanted = auditing.effort(audited(mechanism, law, parameters_of(parameters)), trials)
    with bar(sum(wanted.values()), f"attacking {escape(mechanism)}") as advance:
        judged = list(auditing.verdicts(wanted, alpha=1 - confidence, seed=seed, workers=workers, advance=advance))
    _show(mechanism, judged, picture, json=json)
    if any(verdict.fails for verdict in judged):
        raise typer.Exit(1)


def _require(trials: int, confidence: float, seed: int | None, workers: int, picture: Path | None) -> None:
    """Refuse what could not be judged or drawn, before hours are spent on it."""
    auditing.require_runnable(seed, workers, trials)
    within("--confidence", confidence, 0, 1)
    if picture is not None:
        require_drawable(picture)


def _law(told: dict[str, Any]) -> PrivacyModel | None:
    """The model that was told of, if any was."""
    if not told:
        return None
    if "name" not in told:
        raise BadInput("an epsilon or a window belongs to a model; say which with --model, or leave them all out.")
    return model_of({"epsilon": "1"} | told)


def _show(target: str, judged: list[Verdict], picture: Path | None, *, json: bool) -> None:
    if picture is not None:
        auditing.draw(judged, picture)
    if json:
        as_json([verdict.as_row() for verdict in judged])
        return
    results.print(auditing.table(f"Audit of {escape(target)}", judged))
    for line in auditing.remarks(judged):
        results.print(escape(line))
