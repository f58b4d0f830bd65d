"""Where counts come from and where releases go: arrays, files, data frames, made-up streams."""

from penstock.streams.calendar import Calendar
from penstock.streams.families import GENERATORS
from penstock.streams.files import look_at, read, text_format, write
from penstock.streams.frames import FrameSource
from penstock.streams.generators import crowd, synthetic
from penstock.streams.memory import Stream
from penstock.streams.releases import Releases, read_releases
from penstock.streams.rows import Repeatable, Rows
from penstock.streams.source import Candidate, Source

__all__ = [
    "GENERATORS",
    "Calendar",
    "Candidate",
    "FrameSource",
    "Releases",
    "Repeatable",
    "Rows",
    "Source",
    "Stream",
    "crowd",
    "look_at",
    "read",
    "read_releases",
    "synthetic",
    "text_format",
    "write",
]
