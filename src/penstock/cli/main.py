"""``penstock``: the commands, put together."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from penstock.allocation.risk import observed
from penstock.cli import bench, key, ledger
from penstock.cli.audit import audit
from penstock.cli.backup import backup, export
from penstock.cli.check import check
from penstock.cli.compare import compare
from penstock.cli.console import preparing
from penstock.cli.demo import demo
from penstock.cli.ending import Commands, ending_plainly
from penstock.cli.mechanisms import mechanisms
from penstock.cli.plan import plan
from penstock.cli.post import post
from penstock.cli.publish import publish
from penstock.cli.query import query, table
from penstock.cli.run import run as run_command
from penstock.cli.simulate import simulate
from penstock.cli.statement import statement

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
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
    """The entry point: an error is one sentence, and exit code 2. One that nothing has foreseen has exit code 1."""
    with ending_plainly(), observed(preparing):
        app()
