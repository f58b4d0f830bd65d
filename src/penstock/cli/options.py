"""Options that several commands take, and what they add up to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock import catalogue
from penstock.laws import MODELS
from penstock.streams import GENERATORS

LAW, MECHANISM, INPUT, FILES = "Whom to protect", "How to publish", "Time and formats", "Files"


def _mechanism_names() -> list[str]:
    return list(catalogue.mechanisms())


MechanismName = Annotated[
    str | None,
    typer.Option(
        help="Which mechanism, see penstock mechanisms, or a file of your own: mine.py; a run takes auto, or ma under"
        " m-context.",
        rich_help_panel=MECHANISM,
        autocompletion=_mechanism_names,
    ),
]
Target = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="A mechanism, see penstock mechanisms, or a file with one of your own: mine.py, mine.py:Mine.",
        autocompletion=_mechanism_names,
    ),
]
Own = Annotated[
    list[str],
    typer.Option("--mechanism", help="Try one of your own as well: mine.py, mine.py:Mine.", rich_help_panel=MECHANISM),
]
AllowUnproven = Annotated[
    bool,
    typer.Option(
        "--allow-unproven",
        help="Try a mechanism of your own without a finished proof; in simulations only.",
        rich_help_panel=MECHANISM,
    ),
]
Parameters = Annotated[
    list[str], typer.Option("--set", help="A parameter: warm_up=10, histogram=adaptive.", rich_help_panel=MECHANISM)
]
ModelName = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(MODELS)}.", rich_help_panel=LAW, autocompletion=lambda: [*MODELS])
]
EpsilonText = Annotated[str | None, typer.Option(help="How much may be learnt about anybody.", rich_help_panel=LAW)]
W = Annotated[int | None, typer.Option(help="Time units of a window, for w-event.", rich_help_panel=LAW)]
Horizon = Annotated[int | None, typer.Option(help="Time units of the stream, for user-level.", rich_help_panel=LAW)]
OnHorizon = Annotated[
    str | None, typer.Option(help="What to do past the horizon: stop or republish.", rich_help_panel=LAW)
]
M = Annotated[int | None, typer.Option(help="Presences, for m-context.", rich_help_panel=LAW)]
MaxUsers = Annotated[int | None, typer.Option(help="The most people there are, for m-context.", rich_help_panel=LAW)]
Steps = Annotated[int | None, typer.Option(help="Time units, for delta-neighbourhood.", rich_help_panel=LAW)]
Neighbours = Annotated[str | None, typer.Option(help="add-remove or replace.", rich_help_panel=LAW)]
PerUnit = Annotated[int | None, typer.Option(help="The most records a person has in a unit.", rich_help_panel=LAW)]

Input = Annotated[
    str | None, typer.Option("--input", "-i", help='Histogram rows: a file, or "-".', rich_help_panel=FILES)
]
Presence = Annotated[
    str | None, typer.Option(help="Who is present, for m-context: a file of t,user.", rich_help_panel=FILES)
]
Output = Annotated[str | None, typer.Option("--output", "-o", help='Releases: a file, or "-".', rich_help_panel=FILES)]
StoreFile = Annotated[str | None, typer.Option(help="Keeps releases and budget; made if new.", rich_help_panel=FILES)]
StreamName = Annotated[str | None, typer.Option(help="The stream's name in the store.", rich_help_panel=FILES)]
People = Annotated[str | None, typer.Option(help="A name that streams about them share.", rich_help_panel=LAW)]
PeopleEpsilon = Annotated[str | None, typer.Option(help="What all of these may spend together.", rich_help_panel=LAW)]
TimeColumn = Annotated[str | None, typer.Option(help="The column of the time; else the first.", rich_help_panel=INPUT)]
Every = Annotated[
    str | None, typer.Option(help="The length of a unit: 1d, 30min, 1mo, row, auto.", rich_help_panel=INPUT)
]
Gaps = Annotated[bool | None, typer.Option("--gaps", help="Repeat releases for missing units.", rich_help_panel=INPUT)]
Width = Annotated[int | None, typer.Option(help="Write sums over so many units.", rich_help_panel=INPUT)]
InputFormat = Annotated[
    str | None, typer.Option(help="csv or jsonl; else the name tells, or how it begins.", rich_help_panel=INPUT)
]
OutputFormat = Annotated[str | None, typer.Option(help="csv, jsonl or parquet, likewise.", rich_help_panel=INPUT)]

StreamKind = Annotated[
    str, typer.Option(help=f"Which made-up stream: {', '.join(GENERATORS)}.", autocompletion=lambda: [*GENERATORS])
]
MaybeStreamKind = Annotated[
    str | None,
    typer.Option(
        help=f"Which made-up stream: {', '.join(GENERATORS)}; else seasonal.", autocompletion=lambda: [*GENERATORS]
    ),
]
Picture = Annotated[Path | None, typer.Option("--picture", help="Also draw a picture into this file.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, for a script.")]

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="The file of the store.")]
KeyPath = Annotated[Path | None, typer.Option(help="The key file; else beside the store.", rich_help_panel=FILES)]
HeadPath = Annotated[Path | None, typer.Option(help="The head file; else beside the store.", rich_help_panel=FILES)]


def law(name: str | None, **parameters: Any) -> dict[str, Any]:
    """The description of a model, without what was not given."""
    return {key: value for key, value in {"name": name, **parameters}.items() if value is not None}
