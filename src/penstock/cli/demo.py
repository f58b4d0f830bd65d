"""``penstock demo``: publish a made-up stream with every mechanism and show what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock import catalogue
from penstock.cli import picture
from penstock.curator import Curator
from penstock.ledger import Audit
from penstock.mechanisms.base import Mechanism
from penstock.models import WEvent
from penstock.streams import GENERATORS, Stream, synthetic
from penstock.types import Ints, Kind

SHOWN = "spas"


class Outcome(NamedTuple):
    """What a mechanism published, and what it cost."""

    values: Ints
    fresh: int
    audit: Audit


def demo(
    kind: Annotated[str, typer.Option(help=f"Which made-up stream: {', '.join(GENERATORS)}.")] = "seasonal",
    bins: Annotated[int, typer.Option(help="How many bins the histogram has.")] = 8,
    steps: Annotated[int, typer.Option(help="For how many time units to publish.")] = 520,
    epsilon: Annotated[float, typer.Option(help="How much may be learnt about anybody within a window.")] = 1.0,
    w: Annotated[int, typer.Option(help="How many time units a window has.")] = 52,
    seed: Annotated[int, typer.Option(help="Seed of the made-up stream. The noise is secure and has none.")] = 7,
    to: Annotated[Path | None, typer.Option("--picture", help="Also draw the picture into this file.")] = None,
) -> None:
    """Publish a made-up stream under w-event privacy with every mechanism, and compare with the truth."""
    if to:
        picture.require_drawable(to)
    stream = synthetic(kind, bins=bins, steps=steps, seed=seed)
    model = WEvent(epsilon=epsilon, w=w)
    console = Console()
    made = {key: mechanism(model=model) for key, mechanism in catalogue.mechanisms().items()}
    shown = track(made.items(), "Publishing", console=Console(stderr=True), transient=True)
    outcomes = {key: _published(stream, mechanism) for key, mechanism in shown}
    console.print(
        f"\n[bold]{steps} time units of a made-up {kind} stream, {bins} bins.[/]\n"
        f"Each mechanism publishes it on its own. Whatever happens to one person within any {w} units changes the"
        f" probability of anything that one of them publishes by a factor of at most exp({model.epsilon}).\n"
    )
    console.print(_table(stream, outcomes, w))
    widest = int(stream.counts.mean(axis=0).argmax())
    truth, release = stream.counts[:, widest].astype(float), outcomes[SHOWN].values[:, widest].astype(float)
    console.print(
        f"\nBin {widest} as {SHOWN} published it ([bold cyan]⠶[/]) over the true counts ([bright_black]⠶[/]):"
    )
    console.print(picture.in_terminal(truth, release, width=min(console.width, 110) - 10, height=12))
    console.print("[dim]The truth can be shown here because nobody lives in this stream.[/]")
    if to:
        picture.to_file(truth, release, f"{SHOWN}, epsilon = {model.epsilon} in any {w} units", to)
        console.print(f"[dim]Picture: {to}[/]")


def _published(stream: Stream, mechanism: Mechanism) -> Outcome:
    curator = Curator(mechanism.model, stream.bins)
    mechanism.start(curator)
    releases = [mechanism.step(snapshot) for snapshot in stream]
    fresh = sum(bool(release.kind[0] == Kind.FRESH) for release in releases)
    return Outcome(np.array([release.values for release in releases]), fresh, curator.ledger.audit())


def _table(stream: Stream, outcomes: dict[str, Outcome], w: int) -> Table:
    table = Table(title="What each mechanism made of it", title_justify="left")
    table.add_column("mechanism")
    for heading in ("mean error", "relative", "releases per window", "fullest window"):
        table.add_column(heading, justify="right")
    errors = {key: np.abs(outcome.values - stream.counts) for key, outcome in outcomes.items()}
    best = min(errors, key=lambda key: float(errors[key].mean()))
    for key, (_, fresh, audit) in outcomes.items():
        relative = (errors[key] / np.maximum(stream.counts, 1)).mean()
        cells = [f"{errors[key].mean():.1f}", f"{relative:.1%}", f"{fresh * w / len(stream):.1f}", f"{audit.peak}"]
        table.add_row(key, *cells, style="bold green" if key == best else None)
    return table
