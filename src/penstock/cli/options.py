"""Options that several commands take, and what they add up to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.streams import GENERATORS

MechanismName = Annotated[str | None, typer.Option(help="Which mechanism; see penstock mechanisms.")]
Parameters = Annotated[list[str], typer.Option("--set", help="A parameter of the mechanism: warm_up=10.")]
ModelName = Annotated[str | None, typer.Option(help="Whom to protect: event-level, w-event, user-level, ...")]
EpsilonText = Annotated[str | None, typer.Option(help="How much may be learnt about anybody.")]
W = Annotated[int | None, typer.Option(help="Time units of a window, for w-event.")]
Horizon = Annotated[int | None, typer.Option(help="Time units of the stream, for user-level.")]
M = Annotated[int | None, typer.Option(help="Presences, for m-context.")]
Steps = Annotated[int | None, typer.Option(help="Time units, for delta-neighbourhood.")]
Neighbours = Annotated[str | None, typer.Option(help="add-remove or replace.")]
PerUnit = Annotated[int | None, typer.Option(help="The most records a person has in a unit.")]

StreamKind = Annotated[str, typer.Option(help=f"Which made-up stream: {', '.join(GENERATORS)}.")]
Picture = Annotated[Path | None, typer.Option("--picture", help="Also draw a picture into this file.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, for a script.")]

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="The file of the store.")]
KeyPath = Annotated[Path | None, typer.Option(help="The key file; else beside the store.")]
HeadPath = Annotated[Path | None, typer.Option(help="The head file; else beside the store.")]


def law(name: str | None, **parameters: Any) -> dict[str, Any]:
    """The description of a model, without what was not given."""
    return {key: value for key, value in {"name": name, **parameters}.items() if value is not None}
