"""Whether a picture can be drawn into a file; what is drawn is the business of whoever draws."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import BadInput


def require_drawable(path: Path) -> None:
    """Refuse a picture file that could not be written, before any work is done."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        raise BadInput('a picture file needs matplotlib; install it with: pip install "penstock[plot]".') from None
    kinds = FigureCanvasAgg.get_supported_filetypes()
    if path.suffix.lstrip(".") not in kinds:
        raise BadInput(
            f"a picture is drawn into a file of one of these kinds: {', '.join(sorted(kinds))}; got {path.name}."
        )
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent} to draw the picture into; make it first.")
