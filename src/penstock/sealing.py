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


def seal(plain: bytes, key: bytes) -> bytes:
    """``plain`` encrypted and authenticated under ``key``."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + _cipher(key).encrypt(nonce, plain, None)


def open_sealed(sealed: bytes, key: bytes) -> bytes:
    """What was sealed, or ``BadState`` if the key is another one or a byte has changed."""
    try:
        return _cipher(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
    except (InvalidTag, ValueError):
        raise BadState("the sealed state does not open with this key; pass the key it was saved with.") from None


def _cipher(key: bytes) -> AESGCM:
    if len(key) != KEY_BYTES:
        raise BadInput(f"a sealing key has {KEY_BYTES} bytes; make one with new_key().")
    return AESGCM(key)
