"""Public originals of the benchmark's streams: where they come from, on which terms, and how they become files."""

from penstock.bench.originals.catalogue import ORIGINALS, original_named
from penstock.bench.originals.fetching import fetch
from penstock.bench.originals.original import Original
from penstock.bench.originals.world_cup import pages_by_hour

__all__ = ["ORIGINALS", "Original", "fetch", "original_named", "pages_by_hour"]
