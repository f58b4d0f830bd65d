"""What makes tests quick, and changes nothing that they see."""

import gc


def pytest_collection() -> None:
    """Nearly all that is made while tests are collected stays to the end: there is no garbage to look for."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Half a million objects: whoever collects garbage later need not look through them each time."""
    gc.collect()
    gc.freeze()
    gc.enable()
