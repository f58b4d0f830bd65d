"""What a stream of the benchmark is: its name, where it comes from, and its counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from penstock.bench.suite.files import found
from penstock.streams import Repeatable
from penstock.types import Ints

DIGITS = 16  # of a digest
Origin = Literal["file", "generated", "stand-in"]


@dataclass(frozen=True)
class Named:
    """A stream that has a name. ``file`` is what it is read from, or nothing if it is always made up.

    ``read`` makes it of that file, plain or packed; ``made_up`` without any.
    """

    name: str
    about: str
    file: str
    made_up: Callable[[], Repeatable]
    read: Callable[[Path], Repeatable] | None = None

    def is_there(self, data: Path | None) -> bool:
        """Whether the folder has its file."""
        return self._path(data) is not None

    def loaded(self, data: Path | None) -> Loaded:
        """The stream, of its file if the folder has that."""
        path = self._path(data)
        if self.read is None or path is None:
            return self._holding(self.made_up(), "stand-in" if self.read else "generated")
        return self._holding(self.read(path), "file")

    def _path(self, data: Path | None) -> Path | None:
        return found(data, self.file) if data is not None and self.file else None

    def _holding(self, stream: Repeatable, origin: Origin) -> Loaded:
        counts = np.array(list(stream.rows()), np.int64)
        counts.setflags(write=False)
        return Loaded(self.name, counts, origin, self.about, stream.shape)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A stream that is held: a row a time unit, a column a bin. ``shape`` is that of the domain the bins lie in.

    Its ``origin`` is a file, a generator, or a generator because the file is missing.
    """

    name: str
    counts: Ints
    origin: Origin
    about: str
    shape: tuple[int, ...]

    @property
    def bins(self) -> int:
        return int(self.counts.shape[1])

    def __len__(self) -> int:
        return len(self.counts)

    def digest(self) -> str:
        """By what the counts, in their shape, are known again."""
        told = f"{self.counts.shape} of {self.shape}:".encode()
        return hashlib.sha256(told + self.counts.astype("<i8").tobytes()).hexdigest()[:DIGITS]
