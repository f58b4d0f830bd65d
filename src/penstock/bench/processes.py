"""Work that processes share, in order, and that ends at once when it is told to."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process
from types import FrameType
from typing import Any, TypeVar

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # what libraries of linear algebra go by

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
        yield from map(partial(_heard, work), jobs)
        return
    with _pool(workers, prepare, told) as pool:
        with _deaf():
            results = pool.map(work, jobs)
        yield from results


def ended(
    work: Callable[[J], R],
    jobs: Sequence[J],
    workers: int,
    prepare: Callable[..., None] | None = None,
    told: tuple[Any, ...] = (),
) -> Iterator[tuple[J, R]]:
    """Every job with its result, as they end, so that a long one holds up nobody."""
    if workers == 1:
        yield from zip(jobs, spread(work, jobs, 1, prepare, told), strict=True)
        return
    with _pool(workers, prepare, told) as pool:
        with _deaf():
            waiting = {pool.submit(work, job): job for job in jobs}
        for done in as_completed(waiting):
            yield waiting.pop(done), done.result()


def _heard(work: Callable[[J], R], job: J) -> R:
    """Work off a job, in this process. Ctrl-C stops it, or what follows it at the latest.

    Python drops what is raised in a callback of the garbage collector, and numpy what is raised while it looks for an
    attribute: now and then that is a KeyboardInterrupt, and nobody would hear of it.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        return work(job)
    came = False

    def told(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, told)
    try:
        result = work(job)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
    return result


@contextmanager
def _pool(workers: int, prepare: Callable[..., None] | None, told: tuple[Any, ...]) -> Iterator[ProcessPoolExecutor]:
    # Not forked: a progress bar is a thread.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (prepare, told))
    with one_thread_each():
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Whoever is started meanwhile does linear algebra in one thread: there is a process for every core already.

    Else they wait for each other's cores where there are hundreds of bins. Who has said how many there are to be is
    heeded.
    """
    unsaid = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unsaid, "1"))
    try:
        yield
    finally:
        for name in unsaid:
            del os.environ[name]


def _begin(prepare: Callable[..., None] | None, told: tuple[Any, ...]) -> None:
    """A process begins: it ends with whoever has begun it, even if that is killed."""
    threading.Thread(target=outlive_nobody, daemon=True).start()
    if prepare is not None:
        prepare(*told)


def outlive_nobody() -> None:
    """End with the process that has begun this one."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _deaf() -> Iterator[None]:
    """Whoever is started meanwhile does not hear Ctrl-C; who has started them does, afterwards, and ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
