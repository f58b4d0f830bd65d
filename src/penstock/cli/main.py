"""``penstock``: the commands, put together."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from penstock.cli.demo import demo
from penstock.cli.mechanisms import mechanisms
from penstock.errors import PenstockError

app = typer.Typer(
    no_args_is_help=True, help="Publish statistics about people continuously, without publishing the people."
)
app.command()(demo)
app.command()(mechanisms)


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
    """The entry point: an error is one sentence, and exit code 2."""
    try:
        app()
    except PenstockError as fault:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {escape(str(fault))}", highlight=False)
        sys.exit(2)
