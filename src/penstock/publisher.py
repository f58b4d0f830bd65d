"""The loop: snapshots in, releases out."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.curator import Curator
from penstock.ledger import Population
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise
from penstock.streams import Stream
from penstock.types import Release


def publish(
    stream: Stream, mechanism: Mechanism, *, noise: Noise | None = None, population: Population | None = None
) -> Iterator[Release]:
    """Publish a stream held in memory: one release a time unit, exact and secure noise unless told otherwise."""
    mechanism.start(Curator(mechanism.model, stream.bins, noise=noise, population=population))
    return (mechanism.step(snapshot) for snapshot in stream)
