"""What the boards came to, for readers: tables, figures, and one page that holds everything."""

from penstock.bench.report.shown import About, Shown
from penstock.bench.report.terminal import standings_table
from penstock.bench.report.writing import write

__all__ = ["About", "Shown", "standings_table", "write"]
