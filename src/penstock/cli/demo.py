"""``penstock demo``: a stream published through a durable store, killed and resumed on the way, and what came out."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from penstock import catalogue
from penstock.asking import count
from penstock.cli import options, picture
from penstock.cli.console import progress, results, several
from penstock.cli.trial import Trial, tried
from penstock.drawing import require_drawable
from penstock.errors import BadInput
from penstock.models import PrivacyModel, WEvent
from penstock.store import Archive
from penstock.store.verify import verify, verify_file
from penstock.streams import Stream, synthetic
from penstock.types import Published

STREAM = "counts"
PATIENCE = 120  # seconds
ASKED = 3  # bins that are asked about in the end


def demo(
    kind: options.StreamKind = "seasonal",
    bins: Annotated[int, typer.Option(help="How many bins the histogram has.")] = 8,
    steps: Annotated[int, typer.Option(help="For how many time units to publish.")] = 520,
    mechanism: Annotated[str, typer.Option(help="Which mechanism; see penstock mechanisms.")] = "auto",
    epsilon: Annotated[float, typer.Option(help="How much may be learnt about anybody within a window.")] = 1.0,
    w: Annotated[int, typer.Option(help="How many time units a window has.")] = 52,
    seed: Annotated[int, typer.Option(help="Seed of the made-up stream. The noise is secure and has none.")] = 7,
    to: options.Picture = None,
) -> None:
    """Publish a made-up stream through a durable store, kill it on the way, resume it, verify it, and look at it."""
    if to:
        require_drawable(to)
    model = WEvent(epsilon=epsilon, w=w)
    catalogue.made(mechanism, {}, model)
    stream = synthetic(kind, bins=bins, steps=steps, seed=seed)
    results.print(
        f"\n[bold]{steps} time units of a made-up {kind} stream, {bins} bins.[/] Whatever happens to one person within"
        f" any {w} units changes the probability of anything published by a factor of at most exp({model.epsilon}).\n"
    )
    with TemporaryDirectory() as folder:
        shown, killed = _published(Path(folder), stream, model, mechanism)
    results.print(_table(stream, shown, model, mechanism))
    widest = int(stream.counts.mean(axis=0).argmax())
    truth, release = stream.counts[:, widest].astype(float), shown.values[:, widest].astype(float)
    results.print(f"\nBin {widest} as {mechanism} published it, over the true counts:")
    results.print(picture.legend())
    results.print(picture.in_terminal(truth, release, width=min(results.width, 110) - 10, height=12))
    results.print("[dim]The truth can be shown here because nobody lives in this stream.[/]")
    if to:
        title = f"{mechanism}, epsilon = {model.epsilon} in any {w} units"
        picture.to_file(truth, release, title, to, killed=killed)
        results.print(f"[dim]Picture: {to}[/]")


def _published(folder: Path, stream: Stream, model: WEvent, mechanism: str) -> tuple[Trial, int]:
    """The stream through a process that is killed and resumed, and the unit at which it was."""
    counts, releases, store = folder / f"{STREAM}.csv", folder / "releases.csv", folder / "demo.db"
    rows = np.column_stack([np.arange(1, len(stream) + 1), stream.counts])
    header = ",".join(["t", *(f"bin {i}" for i in range(stream.bins))])
    np.savetxt(counts, rows, fmt="%d", delimiter=",", header=header, comments="")
    settings = ["--input", counts, "--output", releases, "--store", store, "--mechanism", mechanism]
    law = ["--model", "w-event", "--epsilon", model.epsilon, "--w", model.w]
    command = [sys.executable, "-m", "penstock", "run", *map(str, settings + law)]
    results.print(f"$ penstock run {' '.join(Path(str(word)).name for word in settings + law)}")
    before = _killed_halfway(command, releases, len(stream))
    written = before.count(b"\n") - 1
    results.print(f"[red]killed[/] (SIGKILL) when {written} releases were written; run again:")
    _finish(command)
    same = releases.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    results.print(f"[green]resumed[/]: what was written before is {'unchanged' if same else '[red]CHANGED[/]'}.")
    return _verified(store, stream), written


def _killed_halfway(command: list[str], releases: Path, steps: int) -> bytes:
    """Kill the command when it has written about half, and return what is there."""
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    give_up = time.monotonic() + PATIENCE
    with progress("Publishing", steps) as show:
        while child.poll() is None and time.monotonic() < give_up:
            written = releases.read_bytes().count(b"\n") if releases.exists() else 0
            show(written)
            if written > steps // 2:
                break
            time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return releases.read_bytes()


def _finish(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BadInput(f"the resumed run failed: {done.stderr.strip()}")


def _verified(store: Path, stream: Stream) -> Trial:
    """Read the store again, as ``penstock ledger verify`` does."""
    with Archive(store) as archive:
        verify_file(archive)
        found = verify(archive, STREAM)
        releases = list(archive.published(archive.account(STREAM)))
    results.print("\n$ penstock ledger verify demo.db")
    results.print(
        f"[green]verified[/]: {found.units} units, {found.charges} charges, {several(found.lost, 'unit')} lost to the"
        f" crash (spent and republished); fullest window {found.peak} of {found.model.epsilon}.\n"
    )
    _ask_the_latest(releases, stream)
    fresh = sum(release.is_new for release in releases)
    values = np.array([release.values for release in releases])
    return Trial(stream.counts, values, fresh, found.peak or found.model.epsilon)


def _ask_the_latest(releases: list[Published], stream: Stream) -> None:
    """Ask the last release that measured something, as ``penstock query`` does."""
    latest = max((release for release in releases if release.is_new), key=lambda release: release.t)
    answer = count(latest, np.arange(stream.bins) < ASKED)
    truth = int(stream.counts[latest.t - 1, :ASKED].sum())
    names = "|".join(f"bin {i}" for i in range(min(ASKED, stream.bins)))
    results.print(f'$ penstock query releases.csv --at {latest.t} --where "bin={names}"')
    interval = "" if answer.low is None else f", 95% noise interval {answer.low} to {answer.high}"
    results.print(f"[green]{answer.value}[/]{interval}; the true count is {truth}.\n")


def _table(stream: Stream, shown: Trial, model: PrivacyModel, mechanism: str) -> Table:
    trials = {f"{mechanism}, as published above": shown}
    others = {key: kind for key, kind in catalogue.mechanisms().items() if type(model) in kind.proven_for}
    with progress("Trying the others", len(others)) as show:
        for number, (key, kind) in enumerate(others.items(), start=1):
            trials[key] = tried(stream, kind.example(model))
            show(number)
    table = Table(title="What it made of the stream, and what others would have", title_justify="left")
    table.add_column("mechanism")
    for heading in ("mean error", "relative", "releases per window", "fullest window"):
        table.add_column(heading, justify="right")
    ranked = sorted(trials, key=lambda key: trials[key].mean_error)
    for key in ranked:
        each = trials[key]
        cells = [
            f"{each.mean_error:.1f}",
            f"{each.relative_error:.1%}",
            f"{each.releases_per_window(model.window):.1f}",
        ]
        table.add_row(key, *cells, f"{each.peak}", style="bold green" if key == ranked[0] else None)
    return table
