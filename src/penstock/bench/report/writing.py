"""The report into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.bench.cache import NOTHING_USED, Origins
from penstock.bench.report import maps, spans
from penstock.bench.report.canvas import Picture
from penstock.bench.report.hypertext import as_html
from penstock.bench.report.listing import as_csv
from penstock.bench.report.markdown import as_markdown
from penstock.bench.report.shown import About, Measured, Shown
from penstock.drawing import require_drawable
from penstock.errors import BadInput


def write(
    folder: Path,
    boards: Sequence[Shown],
    streams: Sequence[About],
    *,
    figures: bool = True,
    command: str = "penstock bench leaderboard",
    origins: Origins = NOTHING_USED,
) -> list[Path]:
    """A document, a page, a table of all figures, and figures if wanted. The same input gives the same bytes.

    ``command`` is what the report says it was written by, and ``origins`` where its runs come from.
    """
    _prepare(folder, figures=figures)
    measured = [Measured(shown, streams) for shown in boards]
    pictures = {board.board.key: _pictures(board) for board in measured if figures}
    contents = {
        "leaderboard.md": as_markdown(measured, streams, pictures, command, origins).encode(),
        "leaderboard.csv": as_csv(measured).encode(),
        "report.html": as_html(measured, streams, pictures, command, origins).encode(),
    }
    for each in (picture for drawn in pictures.values() for picture in drawn.values()):
        contents |= {f"{each.name}.png": each.png, f"{each.name}.svg": each.svg}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def _prepare(folder: Path, *, figures: bool) -> None:
    """Refuse what could not be written before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise BadInput(f"the report cannot be written into {folder}: {fault.strerror}; name another folder.") from None
    if figures:
        require_drawable(folder / "figure.svg")


def _pictures(board: Measured) -> dict[str, Picture]:
    """Figures by what they are of: the standings, a measure, or the promises. Who is alone is not drawn."""
    if board.alone:
        return {}
    heat = {measure: maps.by_stream(board, ratios) for measure, ratios in board.by_measure.items()}
    return {"standings": spans.standings(board), **heat, "promises": maps.by_promise(board)}
