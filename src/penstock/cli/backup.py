"""``penstock backup`` and ``penstock export``: a copy of the store, and its releases as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from penstock import streams
from penstock.cli import once, options
from penstock.cli.console import as_json, messages, progress
from penstock.cli.looking import looked_into
from penstock.cli.settings import require_same_origin
from penstock.errors import BadInput
from penstock.post import SlidingSum
from penstock.static.declared import is_once
from penstock.store import Archive
from penstock.store.copying import copy
from penstock.types import Cause


def backup(
    store: options.StorePath,
    to: Annotated[Path, typer.Argument(metavar="COPY", help="Where to put the copy.")],
    json: options.Json = False,
) -> None:
    """Copy a store while it is in use. The key is not in the copy, so keep one of it elsewhere; nor is the head."""
    with Archive(store) as archive:
        copy(archive, to)
    with Archive(to) as copied:
        units = {name: copied.account(name).t for name in copied.streams()}
    if json:
        as_json({"copy": str(to), "streams": units})
        return
    held = escape(", ".join(f'"{name}" up to t={t}' for name, t in units.items())) or "no streams"
    messages.print(
        f"{to} holds {held}. Put back, it is used as it is if nothing was published since; else run"
        ' "penstock ledger adopt", which counts what it does not know as spent.'
    )


def export(
    store: options.StorePath,
    stream: Annotated[str, typer.Option(help="The stream to export.")],
    output: Annotated[str, typer.Option("--output", "-o", help='A file, or "-".')] = "-",
    output_format: Annotated[str | None, typer.Option(help="csv, jsonl or parquet, if the name does not tell.")] = None,
    after: Annotated[int, typer.Option(help="Only units after this one.")] = 0,
    width: options.Width = None,
    head: options.HeadPath = None,
) -> None:
    """Write the stored releases of a stream to a file, once more and the same."""
    sliding = SlidingSum(1 if width is None else width)
    with looked_into(store, head) as archive:
        account, declared = archive.visible(stream), archive.streams()[stream]
        if is_once(declared):
            _require_plain(output_format, after, width)
            once.write(once.told(archive, stream), output)
            return
        intervals = account.intervals and sliding.keeps_intervals
        with (
            streams.write(output, declared["bins"], form=output_format, intervals=intervals) as sink,
            progress("Exporting", account.t) as show,
        ):
            archive.require_output(account, sink.last or 0, sink.link)
            require_same_origin(output, sink.mechanism, sliding.named(account.mechanism))
            begin = max(min(after, account.t), (sink.last or 0) if sink.keeps else 0)
            for release in archive.published(account, after=max(begin - sliding.reach, 0)):
                if release.cause is not Cause.ADOPTED:
                    summed = sliding(release)
                    if release.t > begin:
                        sink.write(summed)
                show(release.t)


def _require_plain(form: str | None, after: int, width: int | None) -> None:
    if form not in (None, "csv") or after or width is not None:
        raise BadInput(
            "a one-time publication is a single table of CSV; leave out --output-format, --after and --width."
        )
