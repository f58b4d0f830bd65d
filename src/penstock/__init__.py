"""Penstock publishes statistics about people continuously, without publishing the people.

    import penstock as ps

    stream = ps.streams.synthetic(bins=64, steps=1000, seed=7)
    mechanism = ps.Auto(model=ps.WEvent(epsilon=1.0, w=120))
    for release in ps.publish(stream, mechanism):
        print(release.t, release.values)

Besides the names below, every mechanism is here under the name of its class (``ps.Uniform``, ``ps.SPAS``, ...).
"""

from penstock import allocation, asking, histograms, post, static, streams, theory
from penstock.catalogue import all_names as __dir__
from penstock.catalogue import by_class_name as __getattr__
from penstock.catalogue import mechanism, mechanisms
from penstock.curator import Curator
from penstock.domain import Domain
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BudgetExceeded, NotProven, PenstockError, StoreError
from penstock.ledger import Ledger
from penstock.mechanisms.base import Mechanism, State, state
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.noise import ScriptedNoise, SecureNoise, SimulationNoise
from penstock.points import Points
from penstock.population import Population
from penstock.publisher import Publisher, publish
from penstock.sealing import new_key
from penstock.spatial import SpatialNeighbourhood
from penstock.store import Store
from penstock.types import Kind, Published, Release, Snapshot

__all__ = [
    "BadInput",
    "BudgetExceeded",
    "Curator",
    "DeltaNeighbourhood",
    "Domain",
    "Epsilon",
    "EventLevel",
    "Kind",
    "Ledger",
    "MContext",
    "Mechanism",
    "NotProven",
    "PenstockError",
    "Points",
    "Population",
    "PrivacyModel",
    "Published",
    "Publisher",
    "Release",
    "ScriptedNoise",
    "SecureNoise",
    "SimulationNoise",
    "Snapshot",
    "SpatialNeighbourhood",
    "State",
    "Store",
    "StoreError",
    "UserLevel",
    "WEvent",
    "__dir__",
    "__getattr__",
    "allocation",
    "asking",
    "histograms",
    "mechanism",
    "mechanisms",
    "new_key",
    "post",
    "publish",
    "state",
    "static",
    "streams",
    "theory",
]
