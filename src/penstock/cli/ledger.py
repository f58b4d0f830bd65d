"""``penstock ledger``: what a store knows of its budgets, whether that is true, and what to do if it is too old."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from penstock import catalogue
from penstock.charges import Point, Span
from penstock.cli import options
from penstock.cli.comparing import compare
from penstock.cli.console import as_json, messages, progress, results, several
from penstock.cli.key import existing
from penstock.cli.looking import looked_into
from penstock.errors import BadInput
from penstock.laws import model_of, named
from penstock.models import PrivacyModel
from penstock.parameters import at_least_one
from penstock.post import SlidingSum
from penstock.publisher import Publisher
from penstock.spatial import SpatialNeighbourhood
from penstock.static import Keeper
from penstock.static.declared import is_once, law_of, publication_of
from penstock.store import Archive, Entry, Store
from penstock.store.record import unpack
from penstock.store.scribe import Scribe
from penstock.store.verify import Verified, verify, verify_file

app = typer.Typer(
    no_args_is_help=True, help="Look at the budget of a store, verify it, adopt an old copy, or drop an unused stream."
)

StreamName = Annotated[str | None, typer.Option(help="Only this stream.")]


RIGHT = ("t", "remaining", "units", "fresh", "lost", "charges", "fullest protected set", "epsilon")
OVERVIEW = ("stream", "mechanism", "law", "t", "label", "remaining")


@app.command()
def show(
    store: options.StorePath,
    stream: StreamName = None,
    last: Annotated[int, typer.Option(help="How many time units of a stream to show.")] = 10,
    head: options.HeadPath = None,
    json: options.Json = False,
) -> None:
    """Show the streams of a store and their budgets; with --stream the latest time units of one."""
    at_least_one("--last", last)
    with looked_into(store, head) as archive:
        people = archive.populations()
        if stream is None:
            found = [_overview(archive, name) for name in archive.streams()]
        else:
            account = archive.visible(stream)
            records = archive.records(account, after=max(account.t - last, 0))
            found = [_unit(unpack(record.body)) for record in records]
    if json:
        as_json(found)
    else:
        columns = ("t", "label", "cause", "values", "charges", "remaining") if stream else OVERVIEW
        results.print(_table(stream or str(store), [{key: row[key] for key in columns} for row in found]))
        for name, budget in people.items() if stream is None else ():
            taken = ", ".join(f'"{row["stream"]}"' for row in found if row["population"] == name)
            results.print(escape(f'population "{name}": {budget} for {taken or "nobody yet"} together.'))
        for row in found if stream is None else ():
            if row["announced"] is not None:
                results.print(f't={row["announced"]} of "{escape(row["stream"])}" is announced and not released.')


def _overview(archive: Archive, name: str) -> dict[str, Any]:
    account, declared = archive.visible(name), archive.streams()[name]
    records = deque(archive.records(account, after=account.t - 1), maxlen=1)
    last, intent = unpack(records[0].body) if records else None, archive.intent(account)
    model = model_of(declared["model"])
    return {
        "stream": name,
        "mechanism": account.mechanism,
        "model": declared["model"],
        "law": _law(model),
        "bins": account.bins,
        "population": declared["population"] or "",
        "t": account.t,
        "label": last.label if last else "",
        "remaining": str(last.remaining) if last else declared["model"]["epsilon"],
        "charges": last.sequence if last else 0,
        "announced": intent.t if intent else None,
    }


def _law(model: PrivacyModel) -> str:
    if isinstance(model, SpatialNeighbourhood):
        return f"{named(model)}, {model.epsilon}, {model.in_short}"
    return f"{named(model)}, {model.epsilon} in {model.window}, {model.neighbours}"


def _unit(entry: Entry) -> dict[str, Any]:
    booked = [
        f"{fact.envelope} {fact.e}" + ("" if isinstance(fact, Point) else " from here on")
        for fact in entry.facts
        if isinstance(fact, Point) or (isinstance(fact, Span) and fact.b is None)
    ]
    return {
        "t": entry.t,
        "label": entry.label,
        "cause": str(entry.cause),
        "values": f"those of t={entry.values}" if isinstance(entry.values, int) else "its own",
        "charged": str(entry.charged),
        "charges": ", ".join(booked),
        "remaining": str(entry.remaining),
        "sequence": entry.sequence,
    }


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=escape(title), title_justify="left")
    for heading in rows[0] if rows else ("no streams",):
        justify: Literal["left", "right"] = "right" if heading in RIGHT else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row.values()))
    return table


@app.command(name="verify")
def verify_command(
    store: options.StorePath,
    stream: StreamName = None,
    output: Annotated[Path | None, typer.Option(help="Also compare this file of releases, line by line.")] = None,
    width: options.Width = None,
    head: options.HeadPath = None,
    json: options.Json = False,
) -> None:
    """Read everything again: is it what was written, is it the latest, and did it keep the law?"""
    with Archive(store, head=head) as archive:
        verify_file(archive)
        names = [stream] if stream else list(archive.streams())
        found = []
        for name in names:
            with progress(f'Verifying "{name}"', archive.account(name).t) as show_t:
                found.append(verify(archive, name, show_t))
        sliding = SlidingSum(1 if width is None else width)
        if output is not None and len(names) != 1:
            raise BadInput("an output holds the releases of one stream; say which with --stream.")
        passed = 0 if output is None else compare(archive, names[0], output, sliding)
    if json:
        as_json([_as_row(each) for each in found])
    else:
        results.print(_table(str(store), [_as_row(each) for each in found]))
        law = "no protected set is overspent" if all(each.peak is not None for each in found) else "its charges add up"
        but = f", but for {several(passed, 'line')} of units that were adopted, which it does not know" * (passed > 0)
        same = "" if output is None else f" {escape(str(output))} is what the store has{but}."
        results.print(f"[green]verified[/]: the chain is whole, it is the latest, and {law}.{same}")


def _as_row(found: Verified) -> dict[str, Any]:
    return {
        "stream": found.stream,
        "units": found.units,
        "fresh": found.fresh,
        "lost": found.lost,
        "charges": found.charges,
        "fullest protected set": "sealed" if found.peak is None else str(found.peak),
        "epsilon": str(found.model.epsilon),
    }


@app.command()
def adopt(
    store: options.StorePath,
    stream: Annotated[str, typer.Option(help="The stream to adopt.")],
    until: Annotated[int, typer.Option(help="The last unit that was published, if the head file is gone.")] = 0,
    mechanism: Annotated[str | None, typer.Option(help="Its file, if it is one of your own: mine.py.")] = None,
    key: options.KeyPath = None,
    head: options.HeadPath = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Go on with a store that is older than what was published from it; what it does not know counts as spent."""
    with existing(store, key, head) as opened:
        declared = opened.streams().get(stream)
        if declared is None:
            raise BadInput(
                f'the store {store} has no stream "{stream}"; it has {", ".join(opened.streams()) or "none"}.'
            )
        before, once = opened.account(stream).t, is_once(declared)
        if not yes:
            after = "It can never be told again." if once else "It publishes nothing fresh for a while."
            typer.confirm(f'Count the budget of "{stream}" after t={before} as spent? {after}', abort=True, err=True)
        with _adopting(opened, stream, until, mechanism) as scribe:
            goes_on = (
                "is spent" if once else f"goes on after t={scribe.t}: up to there all is spent, rows are passed over"
            )
            messages.print(f'adopted: stream "{escape(stream)}" {goes_on}.')


@app.command()
def drop(
    store: options.StorePath,
    stream: Annotated[str, typer.Option(help="The stream to drop.")],
    head: options.HeadPath = None,
) -> None:
    """Forget a stream of which nothing was drawn, and give its population back what it holds."""
    with existing(store, None, head) as opened:
        known = opened.streams()
        opened.drop(stream)
    population, epsilon = known[stream]["population"], known[stream]["model"]["epsilon"]
    back = f' gives {epsilon} back to population "{population}"' if population else " held nothing of a population"
    messages.print(escape(f'dropped: stream "{stream}" was not used, and{back}.'))


def _adopting(store: Store, stream: str, until: int, own: str | None) -> Scribe:
    """Whoever wrote the stream, as it was declared."""
    declared = store.streams()[stream]
    population = declared["population"]
    if is_once(declared):
        made = (publication_of(declared), law_of(declared), declared["size"])
        return Keeper(*made, store, stream, columns=declared["columns"], population=population, adopt=until)
    mechanism = catalogue.made(own or declared["mechanism"], declared["parameters"], model_of(declared["model"]))
    kept = {"bins": declared["bins"], "every": declared["every"], "population": population}
    return Publisher(mechanism, store, stream, **kept, adopt=until)
