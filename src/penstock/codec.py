"""Plain data to bytes and back: a versioned header, a JSON outline, raw buffers. Never pickle.

Whole numbers of any size, floats, text, booleans, None, lists, dictionaries with text keys, budgets, fractions and
integer, float or boolean arrays survive exactly.
"""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.epsilon import Epsilon
from penstock.errors import BadState

MAGIC = b"PNSTK"
VERSION = 1
DAMAGED = BadState("the saved state is damaged; restore it from a good copy.")
PLAIN = frozenset({type(None), bool, str, float})  # types that JSON keeps as they are
RESTORED = PLAIN | {int}  # and those that it gives back as they were
LARGEST = 2**53  # beyond it other readers of JSON lose digits
HEADER = struct.Struct("<5sBQ")  # magic, version, length of the outline


def encode(value: Any) -> bytes:
    """``value`` as bytes that ``decode`` reads back exactly."""
    buffers: list[bytes] = []
    outline = json.dumps(_outline(value, buffers), separators=(",", ":")).encode()
    return b"".join([HEADER.pack(MAGIC, VERSION, len(outline)), outline, *buffers])


def decode(data: bytes) -> Any:
    """The value that was encoded, or ``BadState`` if the bytes are not ours."""
    try:
        magic, version, length = HEADER.unpack_from(data)
        if magic != MAGIC or version != VERSION:
            raise BadState("this is not a saved state of this version; export it with the version that wrote it.")
        text = data[HEADER.size : HEADER.size + length]
        if len(text) < length:
            raise DAMAGED
        return _restored(json.loads(text.decode()), memoryview(data)[HEADER.size + length :])
    except (struct.error, ValueError, TypeError, ArithmeticError, RecursionError) as fault:
        raise DAMAGED from fault


def _outline(value: Any, buffers: list[bytes]) -> Any:
    if type(value) in PLAIN or (type(value) is int and -LARGEST < value < LARGEST):  # as most of a state is
        return value
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            return value if abs(value) < LARGEST else {"int": str(value)}
        case Epsilon():
            return {"epsilon": value.nano}
        case Fraction():
            return {"fraction": [str(value.numerator), str(value.denominator)]}
        case np.ndarray():
            return _outline_of_array(value, buffers)
        case bytes():
            return {"bytes": value.hex()}
        case list() | tuple():
            return [_outline(item, buffers) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {"dict": {key: _outline(item, buffers) for key, item in value.items()}}
    raise BadState(f"state must be plain data; {type(value).__name__} cannot be saved.")


def _outline_of_array(array: NDArray[Any], buffers: list[bytes]) -> Any:
    if array.dtype.kind not in "iufb":
        raise BadState(f"state must be plain data; an array of {array.dtype} cannot be saved.")
    start = sum(len(buffer) for buffer in buffers)
    buffers.append(np.ascontiguousarray(array).tobytes())
    return {"array": [array.dtype.str, list(array.shape), start, len(buffers[-1])]}


def _restored(outline: Any, buffers: memoryview) -> Any:
    if type(outline) in RESTORED:
        return outline
    match outline:
        case list():
            return [item if type(item) in RESTORED else _restored(item, buffers) for item in outline]
        case {"int": str(text)}:
            return int(text)
        case {"epsilon": int(nano)}:
            return Epsilon.of_nano(nano)
        case {"fraction": [str(numerator), str(denominator)]}:
            return Fraction(int(numerator), int(denominator))
        case {"bytes": str(text)}:
            return bytes.fromhex(text)
        case {"array": [dtype, shape, start, length]}:
            return np.frombuffer(buffers[start : start + length], np.dtype(dtype)).reshape(shape).copy()
        case {"dict": dict(items)}:
            return {key: _restored(item, buffers) for key, item in items.items()}
    raise DAMAGED
