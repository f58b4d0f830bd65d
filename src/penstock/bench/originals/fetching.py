"""An original from its source into a folder of streams."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.bench.originals.catalogue import original_named
from penstock.bench.originals.download import Progress, download, moved
from penstock.bench.originals.original import Original
from penstock.errors import BadInput


def fetch(
    name: str, to: Path, *, at: str | None = None, again: bool = False, progress: Progress | None = None
) -> list[Path]:
    """Download an original and write its files into a folder; those that are written are given back.

    A file that is there stays as it is, unless it is asked for ``again``. Who is interrupted calls it once more: what
    has come whole is not downloaded twice. ``at`` is another host that has the same paths; ``progress`` is told of
    bytes that have come, some at a time.
    """
    original = original_named(name)
    addresses = [moved(address, at) for address in original.addresses]
    with _written(to):
        missing = _missing(original, to, again)
        kept = to / f".{name}.unfinished"
        kept.mkdir(exist_ok=True)
        try:
            pieces = [_kept(original, address, kept, progress) for address in addresses]
            paths = _placed(original, pieces, kept, [to / file for file in missing])
        except BaseException:
            with suppress(OSError):
                kept.rmdir()  # if nothing is worth being kept
            raise
        shutil.rmtree(kept)
    return paths


@contextmanager
def _written(to: Path) -> Iterator[None]:
    """Say what is wrong if the folder cannot be written into."""
    if not to.is_dir():
        raise BadInput(f"there is no folder {to}; make it first.")
    try:
        yield
    except OSError as fault:
        if fault.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BadInput(f"there is no room left for {to}; make some, and fetch it once more.") from None
        raise BadInput(f"{to} cannot be written into: {fault.strerror}; name another folder.") from None


def _missing(original: Original, to: Path, again: bool) -> list[str]:
    missing = [file for file in original.files if again or not (to / file).exists()]
    if not missing:
        raise BadInput(
            f"{to / original.files[0]} is there already; fetch it again (--again) only if it is to be replaced."
        )
    return missing


def _kept(original: Original, address: str, kept: Path, progress: Progress | None) -> Path:
    """What is kept of the body at an address, from this call or from one before it."""
    piece = kept / Path(address.partition("?")[0]).name
    if not piece.exists():
        body = piece.with_name(f"{piece.name}.{os.getpid()}.part")
        try:
            download(address, body, largest=original.largest, progress=progress)
            with body.open("rb") as file:
                content = original.condense(file)
            _place(body, content, piece)
        finally:
            body.unlink(missing_ok=True)
    return piece


def _placed(original: Original, pieces: list[Path], kept: Path, paths: list[Path]) -> list[Path]:
    try:
        contents = original.made(piece.read_bytes() for piece in pieces)
    except BadInput:
        shutil.rmtree(kept)  # what is of no use is not used again
        raise
    for path in paths:
        _place(kept / f"{path.name}.part", contents[path.name], path)
    return paths


def _place(part: Path, content: bytes, path: Path) -> None:
    """Write a file under another name first, so that it is there as a whole or not at all."""
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
