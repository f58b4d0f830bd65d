"""What every mechanism is: parameters, state, and a decision at each time unit.

An author writes ``begin`` (once, after the curator is at hand) and ``decide`` (once a unit). A mechanism holds the door
of a curator and nothing else: it sees noisy answers, charges and times, all of which are public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from penstock import codec, sealing
from penstock.curator import Curator
from penstock.door import Door
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput, BadState, NotProven
from penstock.histograms import Histogram, Laplace, Measured
from penstock.histograms.base import Shape
from penstock.histograms.catalogue import histogram_of, require_shape, shape_of, titled
from penstock.models import PrivacyModel
from penstock.parameters import hints_of, of_kind, plain
from penstock.primitives.outwards import round_outwards
from penstock.primitives.pool import Pool
from penstock.proofs import PROVED, proof_of
from penstock.queries import LARGEST_REFERENCE, Distance, GroupDistances
from penstock.types import Floats, Ints, Kind, Mask, Release, Snapshot


class State(NamedTuple):
    """A mechanism at rest. ``public`` follows from the releases; ``sealed`` is encrypted, and empty without a key."""

    public: bytes
    sealed: bytes


# An override would hold a snapshot that no ledger has claimed, or the curator behind the door.
THE_LOOPS_OWN = {"start", "step", "pass_over", "save", "load"}


@runtime_checkable
class Keeper(Protocol):
    """A part of the state that saves and loads itself; ``begin`` makes it."""

    def save(self) -> dict[str, Any]: ...
    def load(self, saved: dict[str, Any]) -> None: ...


def state(default: Any = None, *, factory: Callable[[], Any] | None = None) -> Any:
    """A dataclass field that is part of the state: saved, loaded, and not a parameter."""
    options: dict[str, Any] = {"init": False, "repr": False, "compare": False, "metadata": {"state": True}}
    return field(default_factory=factory, **options) if factory else field(default=default, **options)


@dataclass(kw_only=True)
class Mechanism(ABC):
    """Turns each snapshot into a release by asking a curator. Subclasses are dataclasses: fields are parameters."""

    proven_for: ClassVar[tuple[type[PrivacyModel], ...]] = ()
    paper: ClassVar[str] = ""
    intervals: ClassVar[bool] = False  # whether its releases have low and high, at least some of them
    rests_on: ClassVar[tuple[object, ...]] = ()  # what decides with it, and is hashed into its fingerprint

    model: PrivacyModel
    histogram: Histogram = field(default=Laplace(), repr=False)  # how a histogram is measured; also by its name
    shape: Shape | None = field(default=None, repr=False)  # of the domain; its bins are a row if nobody says else
    allow_unproven: bool = field(default=False, repr=False)
    curator: Door = field(init=False, repr=False, compare=False)
    _curator: Curator = field(init=False, repr=False, compare=False)  # the whole of it, for the loop
    domain: Shape = field(init=False, repr=False, compare=False)
    last: Release = field(init=False, repr=False, compare=False)

    def __init_subclass__(cls) -> None:
        for name in THE_LOOPS_OWN & vars(cls).keys():
            raise BadInput(
                f"{cls.__name__} defines {name}, by which the loop drives a mechanism; write begin and decide."
            )

    def __post_init__(self) -> None:
        name, model = type(self).__name__, type(self.model)
        if model not in self.proven_for:
            known = ", ".join(model.__name__ for model in self.proven_for)
            raise NotProven(f"{name} is not proven for {model.__name__}; choose one of {known}, or another mechanism.")
        if proof_of(type(self)).status != PROVED and not self.allow_unproven:
            raise NotProven(
                f"{name} has no finished proof beside it; write one, or pass allow_unproven=True to try it."
            )
        hints = hints_of(type(self))
        for kept in self.parameter_fields():
            setattr(self, kept.name, of_kind(kept.name, getattr(self, kept.name), hints[kept.name]))
        self.histogram = histogram_of(self.histogram)
        self.shape = None if self.shape is None else shape_of(self.shape)
        self.validate()

    @classmethod
    def example(cls, model: PrivacyModel, **options: Any) -> Self:
        """An instance for checks and documents; override it where a parameter has no default."""
        return cls(model=model, **options)

    @classmethod
    def parameter_fields(cls) -> list[Field[Any]]:
        """The fields that configure a mechanism, besides its model."""
        return [kept for kept in fields(cls) if kept.init and kept.name not in ("model", "allow_unproven")]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the mechanism was made with, besides its model and what is usual, as plain data."""
        chosen = {kept.name: getattr(self, kept.name) for kept in self.parameter_fields()}
        usual = {kept.name: kept.default for kept in self.parameter_fields()}
        differing = {name: value for name, value in chosen.items() if value != usual[name]}
        return {name: plain(value) for name, value in differing.items()}

    @property
    def title(self) -> str:
        """What its releases are said to come from."""
        return titled(type(self).__name__, self.parameters)

    # ---- for authors ------------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Refuse parameters that cannot work. Called at construction."""

    def begin(self) -> None:
        """Derive constants from the parameters, cap envelopes, make segments and pools. Nothing can be asked yet."""

    def admit(self, t: int, label: str) -> None:
        """Refuse a unit for what it is called, before anything of it is announced or spent."""

    @abstractmethod
    def decide(self, snapshot: Snapshot) -> Release:
        """The release of this time unit."""

    def publish(self, snapshot: Snapshot, e: Epsilon, bins: Mask | None = None) -> Release:
        """A fresh release for ``e``: of all bins, or of those in ``bins``, the others as in the release before."""
        if bins is None:
            return self.released(snapshot, *self.measured(snapshot, e))
        values, noise_sd = self.last.values.copy(), self.last.noise_sd.copy()
        values[bins], kind, noise_sd[bins] = self.measured(snapshot, e, bins)
        return self.released(snapshot, values, np.where(bins, kind.value, Kind.REPUBLISHED.value), noise_sd)

    def measured(
        self, snapshot: Snapshot, e: Epsilon, bins: Mask | None = None, labels: Ints | None = None
    ) -> Measured:
        """What the histogram method finds for ``e``: of all bins, of those in ``bins``, or of groups of bins."""
        purse = self.curator.purse(snapshot, e, some(bins), labels)
        if labels is None:
            return self.histogram.measure(purse, self.domain, e)
        measured = self.histogram.measure(purse, (purse.size,), e)
        return measured if self.each_alone else measured._replace(kind=Kind.GROUPED)

    @property
    def each_alone(self) -> bool:
        """Whether what is measured together has noises that have nothing to do with each other."""
        return isinstance(self.histogram, Laplace)

    def settled(self, pool: Pool, bins: Mask | None = None) -> Measured:
        """What the histogram method finds in a pool, which is emptied."""
        purse = pool.purse(some(bins))
        measured = self.histogram.measure(purse, self.domain, purse.remaining)
        pool.drop(bins)
        return measured

    def republish(self, snapshot: Snapshot) -> Release:
        """The last release once more, for nothing; between what the counts lie by now, it does not say."""
        return Release(snapshot.t, self.last.values, self._repeated, self.last.noise_sd, self.curator.charged())

    def released(
        self,
        snapshot: Snapshot,
        values: Ints | Floats,
        kind: Any,
        noise_sd: ArrayLike,
        interval: tuple[Floats, Floats] | None = None,
    ) -> Release:
        """A release of values, and of where counts lie, computed from paid answers; what is not whole is rounded."""
        if values.dtype.kind == "f":
            values = np.rint(np.minimum(np.maximum(values, -LARGEST_REFERENCE), LARGEST_REFERENCE))
        whole, bins = np.asarray(values, np.int64), self.curator.bins
        kinds = np.full(bins, kind.value if isinstance(kind, Kind) else kind, np.int8)  # of an enum numpy loses Ctrl-C
        spread = np.full(bins, noise_sd, np.float64)
        low, high = (None, None) if interval is None else round_outwards(whole, *interval)
        return Release(snapshot.t, whole, kinds, spread, self.curator.charged(), low=low, high=high)

    def moved(self, snapshot: Snapshot, e: Epsilon, labels: Ints) -> Floats:
        """How far the counts are from the last release, as the mean L1 distance in each group of bins, for ``e``."""
        grouped = labels.any()
        query = GroupDistances(labels, self.last.values) if grouped else Distance(self.last.values)
        moved: Floats = self.curator.ask(snapshot, query, e, envelope="decide") / np.bincount(labels)
        return moved

    def unit_in_two(self, part: float) -> tuple[Epsilon, Epsilon]:
        """The share of epsilon that every unit of a window has, in two: the given part of it, and the rest."""
        share = self.model.epsilon / self.model.window
        first = share.share(part)
        return first, share - first

    def require_spendable(self, *shares: Epsilon) -> None:
        """For ``validate``: refuse an epsilon that is gone before it is divided up."""
        if not all(shares):
            raise BadInput(
                f"epsilon={self.model.epsilon} is too little for {self.model.window} time units, as a question costs a"
                " nano-epsilon at least; use a larger epsilon or a shorter window, or do not divide it so unevenly."
            )

    def worth_publishing(self, moved: Floats, e: Epsilon) -> Mask:
        """Which mean distances reach the noise of a fresh release, s1 / e; none if there is nothing to spend."""
        worth: Mask = moved >= self.model.sensitivity * NANO / e.nano if e else np.zeros(len(moved), np.bool_)
        return worth

    # ---- for the loop around it -------------------------------------------------------------------------------------

    def start(self, curator: Curator) -> Self:
        """Take a curator, from which all later answers come. Until a first release the last one is all zeros."""
        if curator.model != self.model:
            raise BadInput(f"the curator enforces {curator.model} and not {self.model}; they must agree.")
        self.domain = self.shape or (curator.bins,)
        require_shape(self.domain, curator.bins)
        self._curator = curator
        self.curator = curator.door
        self._repeated = np.full(curator.bins, Kind.REPUBLISHED.value, np.int8)
        self._repeated.setflags(write=False)
        self.last = Release.zeros(curator.bins)
        for kept in self._state_fields():
            setattr(self, kept.name, kept.default if kept.default_factory is MISSING else kept.default_factory())
        self.begin()
        return self

    def step(self, snapshot: Snapshot) -> Release:
        """One time unit: check the snapshot, decide, remember. A step that fails leaves its charges spent."""
        if self.model.is_over(snapshot.t):
            self._curator.check(snapshot)
            return self.pass_over(snapshot)
        self.admit(snapshot.t, snapshot.label)
        self._curator.begin_unit(snapshot)
        try:
            self.last = self.decide(snapshot)
        except BaseException:
            self._curator.retire()
            raise
        return self.last

    def pass_over(self, snapshot: Snapshot, lost: Epsilon | None = None, *, forget: bool = False) -> Release:
        """One time unit that reads nothing: republish, for nothing.

        ``lost`` is what a step that nobody saw the end of may have spent on this unit. Whatever is sealed may have been
        used in it, so it is given up. ``forget``: not even who paid for it is known, so everybody is taken to have.
        """
        self._curator.begin_unit(snapshot)
        if lost is not None:
            self._curator.ledger.lose(lost)
            self._curator.retire(snapshot.t)
        if forget:
            self._curator.ledger.forget()
        self.last = self.republish(snapshot)
        return self.last

    def save(self, key: bytes | None = None) -> State:
        """The state between two steps. Without a key nothing sealed is written, and loading retires it."""
        public, sealed = self._curator.save()
        held = {kept.name: getattr(self, kept.name) for kept in self._state_fields()}
        own = {name: value.save() if isinstance(value, Keeper) else value for name, value in held.items()}
        whole = {"mechanism": self._signature(), "own": own, "last": self.last.saved(), "curator": public}
        openly = codec.encode(whole)
        return State(openly, sealing.seal(codec.encode(sealed), key, beside=openly) if key is not None else b"")

    def load(self, saved: State, key: bytes | None = None, *, retire: bool = True) -> None:
        """Take up a saved state, in a mechanism that was started with the same parameters."""
        whole = codec.decode(saved.public)
        if whole["mechanism"] != self._signature():
            raise BadState(
                f"the state belongs to {whole['mechanism']}, not to {self._signature()}; load it where it was saved."
            )
        sealed = None
        if key is not None and saved.sealed:
            sealed = codec.decode(sealing.open_sealed(saved.sealed, key, beside=saved.public))
        self._curator.load(whole["curator"], sealed, retire=retire)
        self.last = Release.restored(whole["last"])
        for name, value in whole["own"].items():
            held = getattr(self, name)
            if isinstance(held, Keeper):
                held.load(value)
            else:
                setattr(self, name, value)

    def _signature(self) -> str:
        """What must agree between who saves and who loads: class, parameters, model, bins."""
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({parameters}) under {self.model} with {self.curator.bins} bins"

    def _state_fields(self) -> list[Field[Any]]:
        return [kept for kept in fields(self) if kept.metadata.get("state")]


def some(bins: Mask | None) -> Mask | None:
    """The bins that are meant, or None if they are all."""
    return None if bins is None or bins.all() else bins
