"""Keys of the secure noise: new at every release, in every child process and in every copy; never saved."""

import copy
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import penstock as ps
from penstock.errors import PenstockError, Sealed
from penstock.noise import SecureNoise, laplace_sd
from penstock.noise.keystream import KeyStream
from penstock.types import Ints

KEY = bytes(range(32))
SCALE = Fraction(10**6)  # two runs of 20 draws agree by chance once in 10^120

FORKING = """
import json, os, sys
from fractions import Fraction
from penstock.noise import SecureNoise
from penstock.noise.keystream import KeyStream

noises = [SecureNoise(word_bits=bits, source=KeyStream(key=bytes(range(32)))) for bits in (8, 32, 64)]

def draws():
    return [noise.laplace(Fraction(10**6), 20).tolist() for noise in noises]

def told_by_a_child():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            json.dump(draws(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = json.load(pipe)
    os.waitpid(child, 0)
    return told

before = draws()
children = [told_by_a_child(), told_by_a_child()]
json.dump([before, draws(), *children], sys.stdout)
"""


def keyed(word_bits: int = 32) -> SecureNoise:
    return SecureNoise(word_bits=word_bits, source=KeyStream(key=KEY))


def drawn(noise: SecureNoise, size: int = 20) -> Ints:
    return noise.laplace(SCALE, size)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_draws_other_noise() -> None:
    """The parent goes on with its key; two children of the same moment differ from it and from each other."""
    script = [sys.executable, "-W", "error", "-c", FORKING]
    told = subprocess.run(script, capture_output=True, text=True, check=True, timeout=60).stdout
    before, after, first, second = json.loads(told)
    for i, word_bits in enumerate((8, 32, 64)):
        twin = keyed(word_bits)
        assert [drawn(twin).tolist(), drawn(twin).tolist()] == [before[i], after[i]]
        runs = [before[i], after[i], first[i], second[i]]
        assert len({tuple(run) for run in runs}) == 4
    assert first[0] != first[1] != first[2]  # every generator of the child has a key of its own


def test_the_same_key_gives_the_same_noise() -> None:
    """Without which the other tests here would show nothing."""
    np.testing.assert_array_equal(drawn(keyed()), drawn(keyed()))


def test_every_new_generator_has_a_key_of_its_own() -> None:
    """Nothing given, nothing shared: keys come from the operating system."""
    runs = {tuple(drawn(SecureNoise()).tolist()) for _ in range(50)}
    assert len(runs) == 50


def test_rekeying_changes_the_stream() -> None:
    """After ``rekey`` the old key tells nothing, and no two new keys are alike."""
    noise, twin = keyed(), keyed()
    np.testing.assert_array_equal(drawn(noise), drawn(twin))
    runs = {tuple(drawn(twin).tolist())}
    for _ in range(50):
        noise.rekey()
        runs.add(tuple(drawn(noise).tolist()))
    assert len(runs) == 51


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_cannot_be_pickled(protocol: int) -> None:
    """The state of the generator is a secret; the error says what to do instead."""
    for secret in (SecureNoise(), KeyStream(), [keyed()]):
        with pytest.raises(Sealed, match=r"never saved; make a new SecureNoise instead\.$") as refusal:
            pickle.dumps(secret, protocol)
        assert isinstance(refusal.value, PenstockError)
        assert isinstance(refusal.value, TypeError)


def test_a_deep_copy_has_a_fresh_key() -> None:
    """Copies of a publisher must not draw the same noise; the original goes on as if nothing had been copied."""
    noise, twin = keyed(), keyed()
    drawn(noise), drawn(twin)
    copies = [copy.deepcopy(noise), copy.deepcopy(noise)]
    runs = [drawn(other).tolist() for other in (*copies, noise)]
    assert runs[-1] == drawn(twin).tolist()
    assert len({tuple(run) for run in runs}) == 3


def test_a_deep_copy_draws_at_the_scale_it_is_asked_for() -> None:
    """Copy and original keep their prepared digits apart."""
    noise = keyed()
    noise.laplace(Fraction(90), 5000)
    other = copy.deepcopy(noise)
    other.laplace(Fraction(1, 2), 5000)
    assert noise.laplace(Fraction(90), 5000).std() == pytest.approx(laplace_sd(Fraction(90)), rel=0.1)
    assert other.laplace(Fraction(1, 2), 5000).std() == pytest.approx(laplace_sd(Fraction(1, 2)), rel=0.1)


def test_a_shallow_copy_cannot_spoil_the_original() -> None:
    """Refused, or harmless: what a copy draws never changes the scale of the original's noise."""
    noise, scale = keyed(), Fraction(90)
    noise.laplace(scale, 5000)
    with suppress(Sealed):
        copy.copy(noise).laplace(Fraction(1, 2), 5000)
    assert noise.laplace(scale, 5000).std() == pytest.approx(laplace_sd(scale), rel=0.1)


def test_the_key_stream_itself_is_not_copied() -> None:
    """A shallow copy is refused like a pickle, a deep copy is a new stream."""
    stream, twin = KeyStream(key=KEY), KeyStream(key=KEY)
    with pytest.raises(Sealed):
        copy.copy(stream)
    first, second, third = np.zeros((3, 64), np.uint8)
    for each, buffer in ((copy.deepcopy(stream), first), (stream, second), (twin, third)):
        each.fill(buffer)
    assert first.tolist() != second.tolist()
    assert second.tolist() == third.tolist()


def test_the_printed_form_shows_no_secret() -> None:
    """A generator may turn up in a log."""
    assert repr(keyed()) == "SecureNoise(word_bits=32)"


THREADS = 8


@pytest.mark.parametrize("word_bits", [8, 32, 64])
def test_threads_that_share_a_noise_never_draw_the_same(word_bits: int) -> None:
    """Not one pair of several thousand draws of 40 values agrees, and no thread is refused."""
    noise = SecureNoise(word_bits=word_bits)

    def draws(_: int) -> list[bytes]:
        told = []
        for _ in range(200):
            noise.rekey()
            told += [drawn(noise, 40).tobytes(), noise.laplace_each([SCALE], np.zeros(40, np.intp)).tobytes()]
            told += [noise.cube(SCALE, 40).tobytes(), noise.bernoulli(Fraction(1, 2), (300,)).tobytes()]
        return told

    with ThreadPoolExecutor(THREADS) as threads:
        together = [one for told in threads.map(draws, range(THREADS)) for one in told]
    assert len(set(together)) == len(together) == THREADS * 800


def test_a_thread_does_not_begin_with_the_key_of_another() -> None:
    """Not even where a test has chosen the key: that is the key of the thread that made the stream."""
    noise = keyed()
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(drawn, noise).result()
    assert not np.array_equal(other, drawn(keyed()))
    assert np.array_equal(drawn(noise), drawn(keyed()))


def test_threads_that_publish_with_one_noise_share_none_of_it() -> None:
    """What two streams add to their counts never differs by one number in all bins at once."""
    bins, units, noise = 50, 60, SecureNoise()

    def published(level: int) -> list[Ints]:
        mechanism = ps.Uniform(model=ps.WEvent(epsilon="0.001", w=1))
        stream = ps.streams.Stream(np.full((units, bins), level))
        return [release.values for release in ps.publish(stream, mechanism, noise=noise)]

    with ThreadPoolExecutor(THREADS) as threads:
        streams = list(threads.map(published, range(0, 7 * THREADS, 7)))
    rows = np.array([row - row[0] for told in streams for row in told])  # without the level they are the noise
    assert len(np.unique(rows, axis=0)) == len(rows) == THREADS * units
