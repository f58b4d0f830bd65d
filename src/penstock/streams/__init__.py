"""Where counts come from and where releases go: arrays, files, data frames, made-up streams."""

from penstock.streams.calendar import Calendar
from penstock.streams.families import GENERATORS
from penstock.streams.files import read, text_format, write
from penstock.streams.frames import FrameSource
from penstock.streams.generators import crowd, synthetic
from penstock.streams.memory import Stream
from penstock.streams.objects import moving_objects
from penstock.streams.people import census
from penstock.streams.releases import Releases, read_releases
from penstock.streams.rows import Repeatable, Rows
from penstock.streams.site import pages
from penstock.streams.source import Source
from penstock.streams.taxis import taxi_grid

__all__ = [
    "GENERATORS",
    "Calendar",
    "FrameSource",
    "Releases",
    "Repeatable",
    "Rows",
    "Source",
    "Stream",
    "census",
    "crowd",
    "moving_objects",
    "pages",
    "read",
    "read_releases",
    "synthetic",
    "taxi_grid",
    "text_format",
    "write",
]
