"""``penstock mechanisms``: what there is to choose from."""

from __future__ import annotations

import inspect

from rich.console import Console
from rich.table import Table

from penstock import catalogue
from penstock.proofs import proof_of


def mechanisms() -> None:
    """List every mechanism with its paper, the models it is proven for, and the state of its proof."""
    table = Table(title="Mechanisms", title_justify="left", show_lines=True, expand=True)
    table.add_column("name")
    table.add_column("what it does", ratio=1)
    for heading in ("paper", "proven for", "proof"):
        table.add_column(heading, no_wrap=heading != "paper")
    for key, mechanism in catalogue.mechanisms().items():
        summary = (inspect.getdoc(mechanism) or "").split("\n")[0]
        models = "\n".join(model.__name__ for model in mechanism.proven_for)
        table.add_row(f"[bold]{key}[/]", summary, mechanism.paper, models, proof_of(mechanism).status)
    Console().print(table)
