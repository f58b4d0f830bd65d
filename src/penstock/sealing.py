"""Encryption of what must not lie open at rest: threshold noise, pooled counts, who was present."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.errors import BadInput, BadState

KEY_BYTES = 32
NONCE_BYTES = 12


def new_key() -> bytes:
    """A key from the operating system. Keep it on the host, outside whatever stores the states."""
    return os.urandom(KEY_BYTES)


def seal(plain: bytes, key: bytes, beside: bytes = b"") -> bytes:
    """``plain`` encrypted under ``key``, and bound to what lies openly ``beside`` it."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + _cipher(key).encrypt(nonce, plain, beside)


def open_sealed(sealed: bytes, key: bytes, beside: bytes = b"") -> bytes:
    """What was sealed; ``BadState`` if the key is another one, a byte has changed, or it belongs to another state."""
    cipher = _cipher(key)
    try:
        return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], beside)
    except (InvalidTag, ValueError):
        raise BadState("the sealed state does not open; pass the key and the public state it was saved with.") from None


def _cipher(key: bytes) -> AESGCM:
    if len(key) != KEY_BYTES:
        raise BadInput(f"a sealing key has {KEY_BYTES} bytes; make one with new_key().")
    return AESGCM(key)
