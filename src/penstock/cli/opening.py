"""What every command looks at that opens a stream to publish: its name, its people, and how private it is."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import messages
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.store import Store
from penstock.streams.lines import STANDARD

HARDLY_PRIVATE = Epsilon(10)


def name_of(stream: str, source: str) -> str:
    """The name of a stream: as told, or that of the input."""
    return stream or (Path(source).name.split(".")[0] if source != STANDARD else "stream")


def require_people(population: str | None, epsilon: str | None) -> None:
    """Refuse a budget of nobody."""
    if epsilon is not None and population is None:
        raise BadInput("a population_epsilon belongs to a population; name it, or leave both out.")


def require_meant(store: Store, stream: str, name: str) -> None:
    """Refuse to begin a new stream by mistake; ``stream`` is what was told, ``name`` what it comes to."""
    known = store.streams()
    if known and not stream and name not in known:
        names = ", ".join(f'"{each}"' for each in known)
        raise BadInput(
            f'the store {store.path} has {names} and not "{name}"; say with --stream which one to continue, or'
            " name a new one, whose budget adds to the others' if it is about the same people."
        )


def warn_of(epsilon: Epsilon) -> None:
    """Say so if a budget is so large that it means little."""
    if epsilon > HARDLY_PRIVATE:
        messages.print(f"[bold]warning:[/] an epsilon above {HARDLY_PRIVATE} protects hardly anybody.")
