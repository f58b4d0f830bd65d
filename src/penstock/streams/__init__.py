"""Streams held in memory, and generators of such streams."""

from penstock.streams.generators import GENERATORS, synthetic
from penstock.streams.memory import Stream

__all__ = ["GENERATORS", "Stream", "synthetic"]
