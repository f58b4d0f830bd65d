"""What is made sure of before a stream is begun: until then nothing is written, declared or reserved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock import streams
from penstock.cli.opening import require_meant
from penstock.cli.settings import Settings
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.session import Session
from penstock.store import Store, founding
from penstock.store.populations import require_admitted
from penstock.streams import Calendar, Candidate
from penstock.types import Snapshot


@dataclass(frozen=True)
class Registration:
    """What a stream is registered with, or will be: its store, its name and its population.

    ``stream`` is its name as told, ``name`` what it comes to.
    """

    store: str
    stream: str
    name: str
    key: str | Path | None = None
    head: str | Path | None = None
    population: str | None = None
    population_epsilon: str | None = None

    def has_begun(self, model: PrivacyModel) -> bool:
        """Whether anything was drawn for the stream. If not, refuse a store or a population that cannot take it."""
        asked = None if self.population_epsilon is None else Epsilon(self.population_epsilon)
        if not founding.exists(self.store):
            founding.require_foundable(self.store, key=self.key, head=self.head)
            if self.population is not None:
                require_admitted(self.population, asked, model)
            return False
        with Store(self.store, key=self.key, head=self.head) as store:
            require_meant(store, self.stream, self.name)
            if self.name not in store.streams():
                return False
            account = store.account(self.name)
            return bool(account.t or store.intent(account) or store.is_published(account))


def find_registration(settings: Settings) -> Registration:
    """What the stream of a run is registered with."""
    people = (settings.population, settings.population_epsilon)
    return Registration(settings.store, settings.stream, settings.name, settings.key, settings.head, *people)


def is_ready(settings: Settings, made: Mechanism, source: Candidate) -> bool:
    """Refuse a run that could not publish its first row. False if there is no row yet to begin a stream with."""
    if find_registration(settings).has_begun(made.model):
        return True
    intervals = made.intervals and settings.sliding().keeps_intervals
    if streams.look_at(settings.output, source.bins, form=settings.output_format, intervals=intervals):
        raise BadInput(
            f'the output {settings.output} holds releases, and the stream "{settings.name}" has none; name another'
            " output, or the store that they are from."
        )
    first = source.first(Calendar(settings.every, gaps=settings.gaps))
    if first is not None:
        _require_admitted(made, first)
    return first is not None


def _require_admitted(made: Mechanism, first: Snapshot) -> None:
    """Refuse the first snapshot of a stream as it would be refused before it is drawn."""
    session = Session(made, first.bins, noise=None)
    session.check(first)
    if not made.model.is_over(first.t):
        session.mechanism.admit(first.t, first.label)
