"""The one who writes a stream, whatever it is: enters it as declared, takes up what was cut short, and leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Self

from penstock.epsilon import Epsilon, Number
from penstock.errors import BadInput
from penstock.laws import described, model_of
from penstock.ledger import Ledger
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.parameters import require_name
from penstock.proofs import fingerprint
from penstock.store.account import Intent, Pending
from penstock.store.archive import Declaration
from penstock.store.populations import gather
from penstock.store.soundness import recheck
from penstock.store.store import Admission, Store
from penstock.types import Cause, Published, Release


class Scribe(ABC):
    """Holds one stream of a store, to write to it.

    ``maker`` is the class that makes the releases. Streams about the same people name one ``population``, and the first
    of them says how much all may spend together. ``adopt`` accepts a store that is older than what was published from
    it, and counts what it does not know as spent; its value is the last unit that was published, or 0 to trust the head
    file.
    """

    def __init__(
        self,
        store: Store,
        stream: str,
        declaration: Declaration,
        maker: type,
        *,
        population: str | None,
        population_epsilon: Epsilon | Number | None,
        noise: Noise | None,
        adopt: int | None,
    ) -> None:
        if noise is not None and not noise.secure:
            raise BadInput("a store takes secure noise only; simulation and scripted noise protect nobody.")
        if stream not in store.streams():
            require_name("a stream", stream)
        if population is not None and population not in store.populations():
            require_name("a population", population)
        self.store = store
        self._noise = noise
        self._key: bytes = store.key  # a missing one is refused before anything happens
        self._version = f"{version('penstock')}+{fingerprint(maker)}"
        admit = self._admission(population, population_epsilon, model_of(declaration["model"]))
        self._account = store.enter(stream, declaration, population, admit)
        self._drawn = 0  # the last unit for which anything may have been drawn
        try:
            self._key = store.key  # read again, because from here on nobody changes it
            self._begin(adopt)
        except BaseException:
            store.leave(self._account)
            raise

    def _admission(self, population: str | None, epsilon: Epsilon | Number | None, model: PrivacyModel) -> Admission:
        """Whether a new stream fits into its population."""
        if population is None:
            return lambda members: None
        asked = None if epsilon is None else Epsilon(epsilon)
        self.store.budget(population, asked)  # refused now, also where the stream has begun

        def admit(members: list[Declaration]) -> None:
            budget = self.store.budget(population, asked)  # as it is now: somebody else may have begun the population
            gather(population, budget, members).join(model)
            self.store.put_down(population, budget)

        return admit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop cleanly: a unit that was announced, and for which nothing was drawn, is taken back."""
        if not self.store.holds(self._account):
            return
        try:
            if self._account.announced > self._drawn:
                self.store.withdraw(self._account)
        finally:
            self.store.leave(self._account)

    @property
    def t(self) -> int:
        """The last unit that is stored."""
        return self._account.t

    def releases(self, after: int = 0) -> Iterator[Published]:
        """The stored releases, in order of time, without the adopted units, whose release is not known here."""
        self.store.note_head([self._account])  # nothing is shown that the head does not know
        stored = self.store.published(self._account, after)
        return (release for release in stored if release.cause is not Cause.ADOPTED)

    def stored(self, t: int) -> Published | None:
        """The release of a unit that is stored; None if it was adopted, so that its release is not known here."""
        self.store.note_head([self._account])
        found = next(self.store.published(self._account, after=t - 1))
        return None if found.cause is Cause.ADOPTED else found

    # ---- taking up work ---------------------------------------------------------------------------------------------

    def _begin(self, adopt: int | None) -> None:
        recheck(self.store, self._account)
        if adopt is not None:
            until = self.store.adoptable(self._account, adopt)
            self._resume()
            self.store.adopt(self._account, self._adopted(until))
            return
        self.store.require_latest(self._account)
        intent = self._resume()
        if intent is not None:
            self.store.commit([self._lost(intent)])
        self.store.note_head([self._account])

    @abstractmethod
    def _resume(self) -> Intent | None:
        """Go where the store ends. Returns a unit that was announced and never stored."""

    @abstractmethod
    def _lost(self, intent: Intent) -> Pending:
        """What stands for a unit whose end nobody saw: the most that it may have cost is spent."""

    @abstractmethod
    def _adopted(self, until: int) -> list[Pending]:
        """What stands for units up to ``until`` that were published from a store that is gone."""

    def _unlinked(self, release: Release, cause: Cause, label: str, ledger: Ledger) -> Published:
        """A release with where it comes from, before it has its place in the chain."""
        content = (release.t, release.values, release.kind, release.noise_sd, release.charged)
        account = self._account
        origin = (ledger.remaining(), ledger.sequence, account.mechanism, self._version, "")
        return Published(*content, account.name, label, cause, *origin, low=release.low, high=release.high)


def declared(
    maker: type, parameters: Mapping[str, Any], model: PrivacyModel, bins: Sequence[str], every: str
) -> Declaration:
    """Who a stream is."""
    return {
        "mechanism": maker.__name__,
        "parameters": dict(parameters),
        "model": described(model),
        "bins": list(bins),
        "every": every,
    }
