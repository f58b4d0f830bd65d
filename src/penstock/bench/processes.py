"""Work that processes share, in order, and that ends at once when it is told to."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

J = TypeVar("J")
R = TypeVar("R")


def spread(
    work: Callable[[J], R],
    jobs: Sequence[J],
    workers: int,
    prepare: Callable[..., None] | None = None,
    told: tuple[Any, ...] = (),
) -> Iterator[R]:
    """The results of all jobs, in order. Every process is prepared once, with what it is ``told``."""
    if workers == 1:
        if prepare is not None:
            prepare(*told)
        yield from map(work, jobs)
        return
    # Not forked: a progress bar is a thread.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), prepare, told)
    try:
        with _deaf():
            results = pool.map(work, jobs)
        yield from results
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Whoever is started meanwhile does not hear Ctrl-C; who has started them does, afterwards, and ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
