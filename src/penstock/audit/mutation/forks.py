"""Tasks in forked processes, each with a limit of processor time. What a task reports arrives while it runs.

A fork has imported what is slow to import, and leaves nothing behind: no mutant is seen by the next one.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, NamedTuple

from penstock.bench.processes import outlive_nobody

Report = Callable[[Any], None]


class Task(NamedTuple):
    """Work for a process of its own, which is given a function that passes results on. ``about`` names the task."""

    about: Any
    work: Callable[[Report], None]
    processor_seconds: float


class Ended(NamedTuple):
    """What a task has reported. ``late`` says that it was ended at its limit, ``died`` that it ended with an error."""

    about: Any
    results: list[Any]
    late: bool
    died: bool


# A task that waits instead of computing is ended after its limit times this, on the clock.
PATIENCE = 10


class _Running(NamedTuple):
    task: Task
    process: BaseProcess
    results: list[Any]
    ends: float


def run_all(tasks: Iterator[Task], workers: int) -> Iterator[Ended]:
    """All tasks, ``workers`` of them at once, as they end. The next task is asked for when there is a place for it."""
    running: dict[connection.Connection, _Running] = {}
    try:
        while True:
            while len(running) < workers and (task := next(tasks, None)) is not None:
                pipe, started = _start(task)
                running[pipe] = started
            if not running:
                return
            yield from _collect(running)
    finally:
        for each in running.values():
            _end(each.process)


def _collect(running: dict[connection.Connection, _Running]) -> Iterator[Ended]:
    """Wait until something arrives, or the next limit is reached."""
    patience = max(min(each.ends for each in running.values()) - time.monotonic(), 0)
    for pipe in connection.wait(list(running), patience):
        assert isinstance(pipe, connection.Connection)
        try:
            running[pipe].results.append(pipe.recv())
        except EOFError:
            task, process, results, _ = running.pop(pipe)
            process.join()
            late = process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
            yield Ended(task.about, results, late=late, died=process.exitcode != 0 and not late)
    for pipe, (task, process, results, ends) in list(running.items()):
        if ends <= time.monotonic():
            del running[pipe]
            _end(process)
            yield Ended(task.about, results, late=True, died=False)


def _start(task: Task) -> tuple[connection.Connection, _Running]:
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, there))
    process.start()
    there.close()
    return here, _Running(task, process, [], time.monotonic() + PATIENCE * task.processor_seconds)


def _work(task: Task, pipe: connection.Connection) -> None:
    limit = math.ceil(time.process_time() + task.processor_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.setsid()  # so that processes that it starts can be ended with it
    Thread(target=outlive_nobody, daemon=True).start()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    task.work(pipe.send)


def _end(process: BaseProcess) -> None:
    assert process.pid is not None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()  # it has no group of its own yet
    process.join()
