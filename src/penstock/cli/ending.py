"""How a command ends when something goes wrong: in one sentence on standard error, never in a traceback.

A traceback shows values, and a value may be a count. What is not foreseen is named by its kind and its place alone;
``python -X dev -m penstock`` shows it in full.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.markup import escape
from typer.core import TyperGroup

from penstock.cli.console import READER_LEFT, let_go, messages, writing_results
from penstock.errors import PenstockError

REFUSED = 2
UNFORESEEN = 1


class Commands(TyperGroup):
    """Commands whose reader may close the output when they have seen enough; what was released is stored."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Typer itself would take a closed pipe for a fault."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            let_go(sys.stdout)
            raise typer.Exit(READER_LEFT) from None


@contextmanager
def ending_plainly() -> Iterator[None]:
    """Run a command to its end, at which everything that it has printed has been written."""
    _fill_closed()
    try:
        try:
            yield
        except SystemExit:
            with writing_results():
                sys.stdout.flush()
            raise
    except PenstockError as fault:
        _refuse(str(fault))
    except BrokenPipeError:
        let_go(sys.stdout)
        sys.exit(READER_LEFT)
    except MemoryError:
        _refuse("there is not enough memory for this; give the process more, or the command less.")
    except OSError as fault:
        _refuse(f"{fault.filename or 'a file'} cannot be used: {fault.strerror}; mend that and run again.")
    except Exception as fault:
        if sys.flags.dev_mode:
            raise
        _refuse(unforeseen(fault), UNFORESEEN)


def unforeseen(fault: Exception) -> str:
    """A sentence about a fault that nothing has foreseen, without what it says, which may be a count."""
    place = traceback.extract_tb(fault.__traceback__)[-1]
    return (
        f"this is a fault of Penstock itself, a {type(fault).__name__} in {Path(place.filename).name}, line"
        f" {place.lineno}; please report it with the command, without the data."
    )


def _refuse(sentence: str, code: int = REFUSED) -> NoReturn:
    messages.print(f"[bold red]error:[/] {escape(sentence)}")
    sys.exit(code)


def _fill_closed() -> None:
    """Open standard streams that were closed, so that no file takes their numbers, and with them what is printed.

    Results that are written to a closed output are refused; what was read from a closed input is nothing.
    """
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: PTH123, SIM115
