"""A store that a command looks into, and writes nothing to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape

from penstock.cli.console import messages
from penstock.store import Archive


@contextmanager
def looked_into(store: str | Path, head: Path | None = None) -> Iterator[Archive]:
    """The store, with a warning if it has no head file: then the last release of every stream is not shown.

    It may be the store of a process that was killed before anybody saw that release.
    """
    with Archive(store, head=head) as archive:
        if not archive.head_file.path.exists():
            messages.print(
                f"[bold]warning:[/] there is no head file {escape(str(archive.head_file.path))}, so nobody knows"
                " whether the last release of a stream was shown, and it is left out; if the head file lies elsewhere,"
                " name it with --head."
            )
        yield archive
