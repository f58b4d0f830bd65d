"""Sealing: AES-GCM under a nonce of its own, bound to what lies beside it, in a form that does not change."""

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.errors import BadInput, BadState
from penstock.sealing import new_key, open_sealed, seal

PLAIN, BESIDE = b"who was present", b"public"


def test_what_was_sealed_opens_with_its_key_and_beside_its_state_alone() -> None:
    key = new_key()
    sealed = seal(PLAIN, key, BESIDE)
    assert open_sealed(sealed, key, BESIDE) == PLAIN
    torn = [sealed[:-1], sealed[:20], b"", bytes([sealed[0] ^ 1]) + sealed[1:], sealed[:-1] + bytes([sealed[-1] ^ 1])]
    for wrong, other, beside in [
        (sealed, new_key(), BESIDE),
        (sealed, key, b""),
        *((each, key, BESIDE) for each in torn),
    ]:
        with pytest.raises(BadState, match="the sealed state does not open; pass the key and the public state"):
            open_sealed(wrong, other, beside)


def test_the_form_is_a_nonce_of_12_bytes_and_what_aes_gcm_makes_of_it() -> None:
    """Or states that were sealed before could not be opened any more."""
    key, nonce = bytes(range(32)), bytes(12)
    assert open_sealed(nonce + AESGCM(key).encrypt(nonce, PLAIN, BESIDE), key, BESIDE) == PLAIN
    sealed = seal(PLAIN, key, BESIDE)
    assert AESGCM(key).decrypt(sealed[:12], sealed[12:], BESIDE) == PLAIN
    assert len({seal(PLAIN, key)[:12] for _ in range(50)}) == 50


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_key_has_32_bytes(length: int) -> None:
    assert len(new_key()) == 32
    for use in (seal, open_sealed):
        with pytest.raises(BadInput, match="a sealing key has 32 bytes"):
            use(PLAIN, bytes(length))
