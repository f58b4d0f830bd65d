"""Work that processes share: in order, and over when it is told to be."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from penstock.bench.processes import THREADS, ended, spread


def doubled(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(spread(doubled, range(5), workers)) == [0, 2, 4, 6, 8]
    assert sorted(ended(doubled, range(5), workers)) == [(number, 2 * number) for number in range(5)]


def test_ctrl_c_stops_the_job_at_hand() -> None:
    begun: list[int] = []

    def work(job: int) -> int:
        begun.append(job)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("was to have been stopped")

    with pytest.raises(KeyboardInterrupt):
        list(spread(work, [1, 2], workers=1))
    assert begun == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_something_swallows_stops_what_follows() -> None:
    """As the garbage collector does with whatever its callbacks raise."""
    begun: list[int] = []

    def work(job: int) -> int:
        begun.append(job)
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return job

    with pytest.raises(KeyboardInterrupt):
        list(spread(work, [1, 2], workers=1))
    assert begun == [1]


def test_the_tests_pass_where_signals_are_ignored() -> None:
    """As under ``nohup``, and wherever tests are started in the background of a script."""
    program = (
        "import os, signal, sys\n"
        "for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', *sys.argv[1:]])"
    )
    chosen = [__file__, "-k", "ctrl_c"]
    done = subprocess.run([sys.executable, "-c", program, *chosen], capture_output=True, text=True, check=False)
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout


def test_who_handles_ctrl_c_keeps_doing_so() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        assert list(spread(lambda job: signal.raise_signal(signal.SIGINT), [1, 2], workers=1)) == [None, None]
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT] * 2


def test_threads_can_work_too() -> None:
    """They cannot handle signals, and need not."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(spread(doubled, [1, 2], workers=1)))
    thread.start()
    thread.join()
    assert found == [2, 4]


def test_processes_do_linear_algebra_in_one_thread_unless_somebody_says_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(THREADS[1], "3")
    assert list(spread(os.getenv, THREADS, workers=2)) == ["1", "3", "1"]
    assert [os.getenv(name) for name in THREADS] == [None, "3", None]
