"""What makes tests quick and changes nothing that they see; and what keeps them apart from this machine."""

import gc
from collections.abc import Iterator

import pytest


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
