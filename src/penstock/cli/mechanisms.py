"""``penstock mechanisms``: what there is to choose from."""

from __future__ import annotations

import inspect
from dataclasses import MISSING
from typing import Any

from rich.table import Table

from penstock import catalogue
from penstock.cli import options
from penstock.cli.console import as_json, results
from penstock.histograms.catalogue import HISTOGRAMS
from penstock.laws import MODELS
from penstock.mechanisms.base import Mechanism
from penstock.proofs import proof_of

COMMON = [field.name for field in Mechanism.parameter_fields()]
NAMES = {model: name for name, model in MODELS.items()}


def mechanisms(json: options.Json = False) -> None:
    """List every mechanism with its paper, the models it is proven for, its parameters, and the state of its proof."""
    found = [_described(key, mechanism) for key, mechanism in catalogue.mechanisms().items()]
    if json:
        as_json(found)
        return
    methods = f"every one also takes histogram ({', '.join(HISTOGRAMS)}) and shape (of the domain: 32x32)"
    table = Table(title="Mechanisms", title_justify="left", show_lines=True, caption=methods)
    for heading in ("name", "what it does", "proven for", "proof"):
        table.add_column(heading, no_wrap=heading in ("name", "proof"), style="bold" if heading == "name" else None)
    for row in found:
        parameters = ", ".join(f"{name} = {value}" for name, value in row["parameters"].items())
        about = f"{row['summary']}\n[dim]{row['paper']}{'; ' if parameters else ''}{parameters}[/]"
        table.add_row(row["name"], about, "\n".join(row["proven_for"]), row["proof"])
    results.print(table)


def _described(key: str, mechanism: type[Mechanism]) -> dict[str, Any]:
    own = [field for field in mechanism.parameter_fields() if field.name not in COMMON]
    defaults = {field.name: field.default for field in own}
    return {
        "name": key,
        "summary": (inspect.getdoc(mechanism) or "").split("\n")[0],
        "paper": mechanism.paper,
        "proven_for": [NAMES[model] for model in mechanism.proven_for],
        "parameters": {name: "required" if value is MISSING else value for name, value in defaults.items()},
        "proof": proof_of(mechanism).status,
    }
