"""``penstock statement``: what a publisher says about privacy, next to the data."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from penstock import streams
from penstock.cli import options
from penstock.cli.console import messages, progress, put, several
from penstock.cli.ledger import StreamName
from penstock.cli.settings import Settings, from_toml, require_different_files, shaped
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.parameters import nearest, resolved
from penstock.statement import Statement, as_markdown, planned, stated
from penstock.statement.stating import population_of
from penstock.store import Archive
from penstock.store.verify import verify_file
from penstock.streams.lines import STANDARD

BEGINNINGS = (b"# Privacy statement: ", b'[\n  {\n    "statement": ')


def statement(
    store: Annotated[Path | None, typer.Argument(metavar="STORE", help="The file of the store.")] = None,
    config: Annotated[Path | None, typer.Option(help="Instead: the TOML file of a run that is to come.")] = None,
    stream: StreamName = None,
    output: Annotated[str, typer.Option("--output", "-o", help='A .md or .json file, or "-".')] = STANDARD,
    late_data: Annotated[str | None, typer.Option(help="Your rule for late records, in a sentence.")] = None,
    head: options.HeadPath = None,
    json: options.Json = False,
) -> None:
    """Write the privacy statement of every stream of a store, to be published: whom it protects, how strongly, how."""
    if (store is None) == (config is None):
        raise BadInput("name a store, or the TOML file of a run with --config; one of them.")
    if config is not None and (stream is not None or head is not None):
        raise BadInput("--stream and --head are for stores; a TOML file names both by itself.")
    read = {"the store": store, "--config": config, "--head": head}
    require_different_files({"--output": output} | {name: str(path) for name, path in read.items() if path})
    found = [_planned(from_toml(config))] if config else _stored(store or Path(), stream, head)
    if late_data is not None and not late_data.strip():
        raise BadInput("--late-data is your rule for late records, in a sentence; leave it out if there is none.")
    if late_data is not None:
        found = [replace(each, bounds=replace(each.bounds, late_data=late_data.strip().rstrip("."))) for each in found]
    whole = json or output.lower().endswith(".json")
    _write(
        dumps([asdict(each) for each in found], indent=2, ensure_ascii=False) + "\n" if whole else _pages(found), output
    )
    if output != STANDARD:
        messages.print(f"done: {several(len(found), 'statement')} in {escape(output)}.")


def _stored(store: Path, stream: str | None, head: Path | None) -> list[Statement]:
    """The statements of a store that is whole and the latest, of all streams or of one."""
    with Archive(store, head=head) as archive:
        names = list(archive.streams())
        if not names:
            raise BadInput(f"the store {archive.path} has no streams yet; publish one, or name its plan with --config.")
        if stream is not None and stream not in names:
            known = ", ".join(f'"{name}"' for name in names)
            raise BadInput(f'the store {store} has no stream "{stream}"; it has {known}.{nearest(stream, names)}')
        verify_file(archive)
        return [_checked(archive, name) for name in names if stream in (None, name)]


def _checked(archive: Archive, name: str) -> Statement:
    with progress(f'Verifying "{name}"', archive.account(name).t) as show_t:
        return stated(archive, name, show_t)


def _planned(settings: Settings) -> Statement:
    """The statement of what a run would publish: as planned, or as stored once it has begun."""
    settings.require_complete()
    if not Path(settings.store).exists():
        return _before(settings, None)
    with Archive(settings.store, head=settings.head) as archive:
        begun = settings.name in archive.streams() and archive.visible(settings.name).t
        return _checked(archive, settings.name) if begun else _before(settings, archive)


def _before(settings: Settings, archive: Archive | None) -> Statement:
    made, bins = settings.made(), _bins(settings)
    total = None if settings.population_epsilon is None else Epsilon(settings.population_epsilon)
    return planned(
        settings.name,
        made if bins is None else shaped(made, bins),
        bins=bins,
        every=settings.every,
        population=population_of(archive, settings.population, total, joining=(settings.name, made.model)),
        gaps=settings.gaps,
    )


def _bins(settings: Settings) -> tuple[str, ...] | None:
    """The names in the first line of the input, if it is there already."""
    if not Path(settings.input).is_file():
        return None
    with closing(streams.read(settings.input, form=settings.input_format, time=settings.time)) as source:
        return tuple(source.bins)


def _pages(found: list[Statement]) -> str:
    return "\n".join(as_markdown(each) for each in found)


def _write(content: str, output: str) -> None:
    """To standard output, to a device or a pipe, or to a file, which may hold an earlier statement and nothing else."""
    if output == STANDARD:
        put(content)
        return
    path = resolved(output)
    try:
        if path.exists() and not path.is_file():  # nothing may take the place of a device, or read it to its end
            path.write_text(content, encoding="utf-8", newline="\n")
        else:
            _replace(path, content, output)
    except OSError as fault:
        raise BadInput(f"the statement {output} cannot be written: {fault.strerror}.") from None


def _replace(path: Path, content: str, output: str) -> None:
    """A new file, or one in the place of an earlier statement; it appears when it is whole."""
    if path.exists():
        with path.open("rb") as file:
            held = file.read(max(map(len, BEGINNINGS)))
        if held and not held.startswith(BEGINNINGS):
            raise BadInput(f"{output} is there already, and is no privacy statement; name another file.")
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_text(content, encoding="utf-8", newline="\n")
        fresh.replace(path)
    finally:
        with suppress(OSError):
            fresh.unlink()
