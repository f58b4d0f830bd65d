"""``penstock``: the commands, put together."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path
from traceback import extract_tb
from typing import Annotated

import typer
from rich.markup import escape

from penstock.allocation.risk import observed
from penstock.cli import bench, key, ledger
from penstock.cli.audit import audit
from penstock.cli.backup import backup, export
from penstock.cli.check import check
from penstock.cli.compare import compare
from penstock.cli.console import messages, preparing
from penstock.cli.demo import demo
from penstock.cli.mechanisms import mechanisms
from penstock.cli.plan import plan
from penstock.cli.post import post
from penstock.cli.publish import publish
from penstock.cli.query import query, table
from penstock.cli.run import run as run_command
from penstock.cli.simulate import simulate
from penstock.cli.statement import statement
from penstock.errors import PenstockError

# The environment variable with which an error that nobody thought of is shown in full, for developers.
TRACEBACK = "PENSTOCK_TRACEBACK"

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Publish statistics about people continuously, without publishing the people.",
)
app.command(name="run")(run_command)
for command in (
    publish,
    simulate,
    compare,
    plan,
    mechanisms,
    post,
    export,
    backup,
    demo,
    query,
    table,
    statement,
    check,
    audit,
):
    app.command()(command)
app.add_typer(bench.app, name="bench")
app.add_typer(ledger.app, name="ledger")
app.add_typer(key.app, name="key")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {version('penstock')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options that come before a command."""


def run() -> None:
    """The entry point: an error is one sentence, and exit code 2. One that nobody thought of has exit code 1."""
    try:
        with observed(preparing):
            app()
    except PenstockError as fault:
        messages.print(f"[bold red]error:[/] {escape(str(fault))}")
        sys.exit(2)
    except Exception as fault:
        if TRACEBACK in os.environ:
            raise
        messages.print(f"[bold red]error:[/] {escape(_unexpected(fault))}")
        sys.exit(1)


def _unexpected(fault: Exception) -> str:
    """Where a fault was met, without its text, which may hold what was read."""
    met = extract_tb(fault.__traceback__)[-1]
    return (
        f"Penstock met a {type(fault).__name__} that it does not expect ({Path(met.filename).name}, line {met.lineno});"
        f" what was released is stored, so run again, and report this; {TRACEBACK}=1 shows more, which may be counts."
    )
