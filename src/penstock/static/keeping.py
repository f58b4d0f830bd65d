"""One-time publications through a store: drawn once, whatever happens, and told again as often as anybody asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.charges import Fact
from penstock.curator import Curator
from penstock.epsilon import Epsilon, Number
from penstock.errors import BudgetExceeded, OutOfOrder
from penstock.ledger import Ledger
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.points import Points
from penstock.spatial import SpatialNeighbourhood
from penstock.static.base import Publication
from penstock.static.declared import ONCE, declaration_of
from penstock.store import Intent, Pending, Store
from penstock.store.links import linked
from penstock.store.record import pack
from penstock.store.scribe import Scribe
from penstock.types import Cause, Kind, Published, Release

UNIT = 1  # the only one


class Keeper(Scribe):
    """Publishes one thing about points through a store: commit the intent, draw, commit the release, show it.

    ``law`` tells the grid, ``size`` how many points there are, ``columns`` what they are called where they come from.
    ``Scribe`` tells of the other parameters.
    """

    def __init__(
        self,
        publication: Publication,
        law: SpatialNeighbourhood,
        size: int,
        store: Store,
        stream: str,
        *,
        columns: Sequence[str] = (),
        population: str | None = None,
        population_epsilon: Epsilon | Number | None = None,
        noise: Noise | None = None,
        adopt: int | None = None,
    ) -> None:
        self._publication = publication
        self._law: PrivacyModel = publication.require_proven(law)
        self._size = size
        self._facts: list[Fact] = []
        self._pending: Pending | None = None
        super().__init__(
            store,
            stream,
            declaration_of(publication, law, size, columns),
            type(publication),
            population=population,
            population_epsilon=population_epsilon,
            noise=noise,
            adopt=adopt,
        )

    @property
    def release(self) -> Published | None:
        """What was published; None if nothing was yet. What can never be is refused."""
        if not self.t:
            return None
        self.store.note_head([self._account])  # nothing is shown that the head does not know
        return require_told(next(self.store.published(self._account)))

    def publish(self, points: Points) -> Published:
        """The release, stored. If there is one already it is the very same, and nothing is drawn."""
        if not self.t:
            self._pending = self._pending or self._prepared(points)
            self.store.commit([self._pending])
        return require_told(next(self.store.published(self._account)))

    def _prepared(self, points: Points) -> Pending:
        """Draw the release. If that fails before anything was paid for, nothing was drawn, and nothing is announced."""
        self.store.require_held(self._account)
        if self._drawn:
            raise OutOfOrder("the publication was interrupted; close it and open the stream again.")
        curator = Curator(self._law, self._size, noise=self._noise, journal=self._facts.append)
        curator.check(points)
        if not self._account.announced:
            self.store.intend([Intent(self._account, UNIT, ONCE, curator.ledger.remaining_next(), self._account.link)])
        self._drawn = UNIT
        try:
            release = self._publication.released(curator, points.anew())
        except Exception:
            self._drawn = UNIT if curator.charged() else 0
            raise
        self.store.at("draw")
        return self._packed(release, Cause.DECIDED, curator.ledger)

    def _packed(self, release: Release, cause: Cause, ledger: Ledger) -> Pending:
        drawn = self._unlinked(release, cause, ONCE, ledger)
        body, _ = pack(drawn, self._facts, [], None)
        link = linked(self._account.link, body)
        return Pending(self._account, replace(drawn, link=link.hex()), body, link)

    # ---- taking up work ---------------------------------------------------------------------------------------------

    def _resume(self) -> Intent | None:
        return self.store.intent(self._account)

    def _lost(self, intent: Intent) -> Pending:
        return self._given_up(intent.most, Cause.LOST)

    def _adopted(self, until: int) -> list[Pending]:
        """There is no second unit, so whoever has the first has all."""
        return [] if self.t else [self._given_up(self._law.epsilon, Cause.ADOPTED)]

    def _given_up(self, most: Epsilon, cause: Cause) -> Pending:
        """A release that says nothing, for all that may have been spent."""
        ledger = Ledger(self._law, journal=self._facts.append)
        ledger.advance(UNIT, None)
        ledger.lose(most)
        nothing = np.zeros(self._account.bins, np.int64)
        kind = np.full(self._account.bins, Kind.REPUBLISHED, np.int8)
        blank = Release(UNIT, nothing, kind, nothing.astype(np.float64), Epsilon.of_nano(ledger.charged))
        return self._packed(blank, cause, ledger)


def require_told(release: Published) -> Published:
    """Refuse the release of a publication that was cut short: it stands for what was spent, and says nothing."""
    if release.cause is not Cause.DECIDED:
        what = "was published from a store that is gone" if release.cause is Cause.ADOPTED else "was cut short"
        raise BudgetExceeded(
            f'"{release.stream}" {what}, so that its budget is spent and nothing can be told; publish it under another'
            " name (--stream), for a budget of its own."
        )
    return release
