"""The privacy statement that a publisher puts next to the data: whom a stream protects, how strongly, and how."""

from penstock.statement.markdown import as_markdown
from penstock.statement.stating import Statement, planned, stated

__all__ = ["Statement", "as_markdown", "planned", "stated"]
