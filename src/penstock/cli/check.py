"""``penstock check``: whether a mechanism keeps the promises that every mechanism must keep."""

from __future__ import annotations

from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from penstock.catalogue import mechanism as found
from penstock.catalogue import require_known
from penstock.checks import CHECKS, Subject, subjects
from penstock.cli import options
from penstock.cli.console import as_json, progress, results
from penstock.cli.settings import parameters_of
from penstock.errors import BadInput, CheckFailed


def check(
    mechanism: options.Target,
    parameters: options.Parameters = [],  # noqa: B006
    json: options.Json = False,
) -> None:
    """Run every check on a mechanism, under small models of every kind it claims.

    Exit code 1 if a promise is broken.
    """
    kind = found(mechanism)
    require_known(kind, parameters_of(parameters))
    if not kind.proven_for:
        raise BadInput(f"{kind.__name__} claims no model; say in proven_for under which it is private.")
    checked = subjects(kind, parameters_of(parameters))
    rows = []
    with progress(f"Checking {kind.__name__}", len(CHECKS) * len(checked)) as show:
        for number, (name, run) in enumerate(CHECKS.items()):
            broken = ""
            for place, subject in enumerate(checked, start=1):
                broken = broken or _broken(run, subject)
                show(number * len(checked) + place)
            rows.append({"check": name, "keeps": (run.__doc__ or "").strip(), "broken": broken})
    _show(kind.__name__, rows, json=json)
    if any(row["broken"] for row in rows):
        raise typer.Exit(1)


def _broken(run: Any, subject: Subject) -> str:
    """What a check has to say against a mechanism; nothing if it is content."""
    try:
        run(subject)
    except CheckFailed as fault:
        return str(fault)
    return ""


def _show(name: str, rows: list[dict[str, str]], *, json: bool) -> None:
    if json:
        as_json(rows)
        return
    table = Table(
        title=f"Checks of {escape(name)}", title_justify="left", show_lines=any(row["broken"] for row in rows)
    )
    for heading in ("check", "what it demands, or what is wrong", "kept"):
        table.add_column(heading, no_wrap=heading == "check")
    for row in rows:
        told, style = (row["broken"], "bold red") if row["broken"] else (row["keeps"].split("\n")[0], None)
        table.add_row(row["check"], escape(told), "no" if row["broken"] else "yes", style=style)
    results.print(table)
