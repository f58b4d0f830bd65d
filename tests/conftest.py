"""What makes tests quick, and changes nothing that they see."""

import gc
from functools import lru_cache
from typing import get_type_hints

import pytest

from penstock.mechanisms import base


def pytest_configure() -> None:
    """Checks make a mechanism at every step; to read the annotations of its class takes longer than the step."""
    pytest.MonkeyPatch().setattr(base, "get_type_hints", lru_cache(get_type_hints))


def pytest_collection() -> None:
    """Nearly all that is made while tests are collected stays to the end: there is no garbage to look for."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Half a million objects: whoever collects garbage later need not look through them each time."""
    gc.collect()
    gc.freeze()
    gc.enable()
