"""What makes tests quick and changes nothing that they see; and what keeps them apart from this machine."""

import gc
import signal
from collections.abc import Iterator
from types import FrameType

import pytest


def pytest_configure() -> None:
    """Commands begin with the usual signals, however these tests were started.

    ``nohup`` and some systems of continuous integration have signals ignored. Whoever is started inherits that, and the
    commands heed it, so that those that a test stops would go on. A handler is not inherited, even one that does
    nothing: the tests themselves go on under ``nohup``.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: _go_on, signal.SIGTERM: _go_on}
    for number, handler in usual.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def _go_on(number: int, frame: FrameType | None) -> None:
    """Do what was done before: nothing."""


def pytest_collection() -> None:
    """Nearly all that is made while tests are collected stays to the end: there is no garbage to look for."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Half a million objects: whoever collects garbage later need not look through them each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def own_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder of one's own for tables of errors: one that an older version made must not decide what is tested."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
