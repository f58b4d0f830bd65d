"""A stream of secret random bytes: AES-256 in counter mode, keyed by the operating system.

A new key at every release bounds what one key encrypts, and no later key tells anything about an earlier one. After
a fork the child gets a new key, or parent and child would draw the same noise. Every thread has a key of its own, for
the same reason: two threads that read one cipher at once can get the same bytes.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import ClassVar, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from penstock.errors import Sealed

BLOCK_BYTES = 16
CHUNK_BYTES = 1 << 20

Bytes = NDArray[np.uint8]


class ByteSource(Protocol):
    """Anything that fills a buffer with uniform bytes. Tests put fixed bytes here."""

    def rekey(self) -> None: ...
    def fill(self, buffer: Bytes) -> None:
        """Overwrite ``buffer`` with fresh bytes."""


class KeyStream:
    """The secure byte source. Its key cannot be read, copied or pickled; ``key`` is for golden vectors in tests."""

    _zeros: ClassVar = memoryview(bytes(CHUNK_BYTES))
    _living: ClassVar[weakref.WeakSet[KeyStream]] = weakref.WeakSet()

    def __init__(self, key: bytes | None = None) -> None:
        self._own = _Ciphers()
        if key is not None:
            self._own.cipher = _keyed(key)
        self._living.add(self)

    def rekey(self) -> None:
        """Forget the key of this thread and take a new one."""
        self._own.cipher = _keyed(os.urandom(32))

    def fill(self, buffer: Bytes) -> None:
        """Overwrite ``buffer`` with the next bytes of the stream."""
        for start in range(0, buffer.nbytes, CHUNK_BYTES):
            chunk = buffer[start : start + CHUNK_BYTES]
            self._own.cipher.update_into(self._zeros[: chunk.nbytes], chunk.data)

    def __deepcopy__(self, memo: object) -> KeyStream:
        return KeyStream()

    def __reduce__(self) -> NoReturn:
        raise Sealed("generator state is secret and is never saved; make a new SecureNoise instead.")


class _Ciphers(threading.local):
    """The cipher of each thread, under a key that no other thread has."""

    def __init__(self) -> None:
        self.cipher = _keyed(os.urandom(32))


def _keyed(key: bytes) -> CipherContext:
    return Cipher(AES(key), CTR(bytes(BLOCK_BYTES))).encryptor()


def _rekey_all() -> None:
    for stream in list(KeyStream._living):
        stream.rekey()


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to mend
    os.register_at_fork(after_in_child=_rekey_all)
