"""What can be asked of releases: range counts with noise intervals, and tables of made-up records. At no cost."""

from penstock.asking.counting import Answer, count
from penstock.asking.tables import table

__all__ = ["Answer", "count", "table"]
