"""The budget: exact, append-only, and asked before anything is drawn.

A charge is an immutable fact about the data it reads. A ``Point`` concerns one time unit; a ``Span`` concerns a
stretch of them and counts once in every protected set that meets it, however often. The ledger refuses any charge that
would put some protected set above the model's epsilon, which is the whole of the privacy argument (docs/guarantees.md):

    if for every transcript the charges that touch a protected set add up to at most epsilon,
    then the release is epsilon-differentially private for that model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.charges import Charge, Fact, Point, Span, Touch
from penstock.epsilon import Epsilon, EpsilonField
from penstock.errors import BadInput, BadState, BudgetExceeded, OutOfOrder
from penstock.meters import NOBODY, Meter, Roll
from penstock.models import MContext, PrivacyModel

ENVELOPES = ("decide", "publish", "monitor", "quality")
LOST = "lost"  # the label of what a step that nobody saw the end of may have spent; no mechanism can use it


Journal = Callable[[Fact], None]


@dataclass
class Population:
    """People who appear in several streams. Each stream that joins sets aside its whole epsilon, once and for all.

    Whatever each stream's own ledger allows, the sum over streams then stays within ``epsilon``, for every protected
    set that all of them protect.
    """

    name: str
    epsilon: EpsilonField = EpsilonField()
    members: list[PrivacyModel] = field(default_factory=list)

    def join(self, model: PrivacyModel) -> None:
        """Set aside ``model.epsilon``, or refuse."""
        if any(model.relation != other.relation for other in self.members):
            raise BadInput(
                f'the streams of population "{self.name}" must share one kind of model, with the same neighbours,'
                " per_unit and radius; use another population, whose budget adds to this one's."
            )
        taken = sum(other.epsilon.nano for other in self.members)
        if taken + model.epsilon.nano > self.epsilon.nano:
            left = Epsilon.of_nano(self.epsilon.nano - taken)
            raise BudgetExceeded(
                f'population "{self.name}" has {left} of {self.epsilon} left and this stream asks for {model.epsilon};'
                " lower its epsilon."
            )
        self.members.append(model)


@dataclass(frozen=True)
class Audit:
    """The outcome of a recount: the fullest protected set so far, against the law."""

    peak: Epsilon
    limit: Epsilon

    @property
    def holds(self) -> bool:
        return self.peak <= self.limit


class Ledger:
    """All charges of one stream, kept as far back as a protected set can still reach."""

    def __init__(
        self, model: PrivacyModel, *, population: Population | None = None, journal: Journal | None = None
    ) -> None:
        if population is not None:
            population.join(model)
        self.model = model
        self._limit = model.epsilon.nano
        self.t = 0
        self.sequence = 0  # how many charges were ever booked
        self.charged = 0  # nano-epsilon booked in the current unit
        self._journal = journal
        self._meter = model.meter()
        self._caps: dict[str, tuple[Meter, int]] = {}
        self._spans: dict[int, Span] = {}
        self._roll = Roll(model.max_users) if isinstance(model, MContext) else None
        self._peak = 0
        self._aside: dict[str, int] = {}  # nano-epsilon that was reserved in the current unit and not settled
        self._over = False  # whether the current unit lies past the horizon, so that nothing of it can be paid for

    def cap(self, **envelopes: Epsilon) -> None:
        """Give envelopes budgets of their own, inside the model's. Only before the first charge."""
        if self.sequence:
            raise BadInput("envelopes are capped before the first charge; call cap() in begin().")
        for envelope, limit in envelopes.items():
            self._caps[known(envelope)] = (self.model.meter(), limit.nano)

    def check(self, t: int, present: Sequence[str] | None) -> None:
        """Refuse what ``advance`` would refuse, and change nothing."""
        if t != self.t + 1:
            raise OutOfOrder(f"time units come one after another; expected t={self.t + 1}, got t={t}.")
        if self._roll:
            self._roll.check(present)

    def advance(self, t: int, present: Sequence[str] | None) -> None:
        """Move to unit ``t``, which must be the next one. Past a horizon meters stand still: nothing is handed back."""
        self.check(t, present)
        rows = self._roll.rows(present) if self._roll else NOBODY
        self.t, self.charged, self._over = t, 0, self.model.is_over(t)
        self._aside.clear()
        if self._over:
            return
        for meter in self._meters():
            meter.advance(rows)

    def can(self, span: int | None = None, /, **envelopes: Epsilon) -> bool:
        """Whether these charges could all be made at the current unit, and the open ``span`` read there as well."""
        if self._over:
            return False
        reading = self._spans[span].envelope if span is not None else None
        total = sum(e.nano for name, e in envelopes.items() if known(name))
        if _read(self._meter, span) + total > self._limit:
            return False
        for name, (meter, limit) in self._caps.items():
            if name in envelopes or name == reading:
                more = envelopes[name].nano if name in envelopes else 0
                if _read(meter, span if name == reading else None) + more > limit:
                    return False
        return True

    def remaining(self, envelope: str | None = None) -> Epsilon:
        """What can still be spent at the current unit, in all or from one envelope."""
        left = 0 if self._over else self._limit - self._meter.total
        if envelope is not None and known(envelope) in self._caps:
            meter, limit = self._caps[envelope]
            left = min(left, limit - meter.total)
        return Epsilon.of_nano(left)

    def remaining_next(self) -> Epsilon:
        """The most that the next unit can cost, before it has begun."""
        if self.model.is_over(self.t + 1):
            return Epsilon.of_nano(0)
        return Epsilon.of_nano(self._limit - self._meter.total + self._meter.leaving)

    def lose(self, most: Epsilon) -> None:
        """Nobody knows what was drawn in the current unit: count ``most`` of it as spent, as far as the law allows."""
        lost = min(most, self.remaining())
        if lost:
            self._move(lost.nano, LOST, lost.nano)
            self._book(Point(self.t, lost, LOST))

    def add(self, e: Epsilon, envelope: str, *, within: Epsilon | None = None) -> None:
        """Charge ``e`` to the current unit, or refuse. ``within``: its cost inside the envelope, where that differs."""
        inside = e if within is None else within
        self._require(e, envelope, inside)
        self._move(e.nano, envelope, inside.nano)
        self._book(Point(self.t, e, envelope))

    def reserve(self, **envelopes: Epsilon) -> None:
        """Set charges aside before a draw that decides whether they are due."""
        if not self.can(**envelopes):
            raise self.refusal(sum(e.nano for e in envelopes.values()), *envelopes)
        for envelope, e in envelopes.items():
            self._move(e.nano, envelope, e.nano)
            self._aside[envelope] = self._aside.get(envelope, 0) + e.nano

    def settle(self, reserved: dict[str, Epsilon], due: dict[str, Epsilon]) -> None:
        """Hand back what ``reserve`` set aside and book what is due of it; nothing else is ever handed back."""
        for envelope, e in reserved.items():
            if self._aside.get(envelope, 0) < e.nano or (envelope in due and due[envelope] > e):
                raise BadInput("only what was reserved in this time unit can be handed back, and no more of it be due.")
            self._aside[envelope] -= e.nano
            kept = due[envelope].nano if envelope in due else 0
            self._move(kept - e.nano, envelope, kept - e.nano)
        for envelope, e in due.items():
            self._book(Point(self.t, e, envelope))

    def open(self, e: Epsilon, envelope: str) -> Span:
        """Start a span charge at the current unit, or refuse."""
        self._require(e, envelope, e)
        span = Span(self.t, None, e, known(envelope), self.sequence)
        for meter in self._meters(envelope):
            meter.open(span.key, e.nano)
        self._spans[span.key] = span
        self._book(span)
        self.touch(span.key)
        return span

    def touch(self, key: int) -> None:
        """The span reads the data of the current unit, or is refused to: under m-context others may be present now."""
        span = self._spans[key]
        if not self.can(key):
            raise self.refusal(span.e.nano, span.envelope)
        for meter in self._meters(span.envelope):
            meter.touch(key)
        self._peak = max(self._peak, self._meter.total)
        if self._journal and self._roll:
            self._journal(Touch(self.t, key))

    def close(self, key: int, last: int) -> None:
        """The span's last reading of data was at unit ``last``."""
        span = self._spans.pop(key)
        for meter in self._meters(span.envelope):
            meter.close(key, last)
        if self._journal:
            self._journal(Span(span.a, last, span.e, span.envelope, key))

    def audit(self) -> Audit:
        """Recount every meter from the charges it keeps; a meter that disagrees with itself is a fault."""
        for meter in self._meters():
            if meter.total != meter.recount():
                raise BadState("the ledger's running total disagrees with its charges; stop and restore a good copy.")
        return Audit(Epsilon.of_nano(max(self._peak, self._meter.fullest())), self.model.epsilon)

    def save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The public part, and the part that says who was present when."""
        meters = [meter.save() for meter in self._meters()]
        spans = [[s.a, s.e, s.envelope, s.key] for s in self._spans.values()]
        public = {"t": self.t, "sequence": self.sequence, "peak": self._peak, "spans": spans}
        if self._roll:
            return public, {"meters": meters, "roll": self._roll.save()}
        return public | {"meters": meters}, {}

    def load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        """Take up a saved state. Without the sealed part everybody's presences count as fully paid."""
        if self.t:
            raise BadState("a state is loaded before the first unit; loading it later would hand back what was spent.")
        self.t, self.sequence, self._peak = public["t"], public["sequence"], public["peak"]
        self._over = self.model.is_over(self.t)
        self._spans = {key: Span(a, None, e, envelope, key) for a, e, envelope, key in public["spans"]}
        kept = public if self._roll is None else sealed
        if kept is None:
            self.forget()
            return
        for meter, saved in zip(self._meters(), kept["meters"], strict=True):
            meter.load(saved)
        if self._roll and sealed:
            self._roll.load(sealed["roll"])

    def forget(self) -> None:
        """Nothing certain is known of the past: every protected set is taken to have paid all of epsilon just now."""
        self._roll = Roll(self._roll.limit) if self._roll else None
        self._meter.forget(self._limit)
        for meter, limit in self._caps.values():
            meter.forget(limit)

    def _meters(self, envelope: str | None = None) -> list[Meter]:
        if envelope is None:
            return [self._meter, *(meter for meter, _ in self._caps.values())]
        return [self._meter, self._caps[envelope][0]] if envelope in self._caps else [self._meter]

    def _move(self, nano: int, envelope: str, within: int) -> None:
        self._meter.add(nano)
        if envelope in self._caps:
            self._caps[envelope][0].add(within)

    def _book(self, charge: Charge) -> None:
        self.sequence += 1
        self.charged += charge.e.nano
        self._peak = max(self._peak, self._meter.total)
        if self._journal:
            self._journal(charge)

    def _require(self, e: Epsilon, envelope: str, within: Epsilon) -> None:
        capped = self._caps.get(known(envelope))
        fits = not self._over and self._meter.total + e.nano <= self._limit
        if not fits or (capped and capped[0].total + within.nano > capped[1]):
            raise self.refusal(e.nano, envelope)

    def refusal(self, nano: int, *envelopes: str) -> BudgetExceeded:
        """What to raise when a charge does not fit."""
        if self._over:
            return BudgetExceeded(f"t={self.t} is past the horizon, where nothing can be paid for; republish instead.")
        left = min(self.remaining(envelope) for envelope in envelopes)
        return BudgetExceeded(
            f"{Epsilon.of_nano(nano)} for {' and '.join(envelopes)} at t={self.t} exceeds the {left} that remain of the"
            " budget; ask can() first, or spend less."
        )


def _read(meter: Meter, span: int | None) -> int:
    return meter.total if span is None else meter.if_touched(span)


def known(envelope: str) -> str:
    """Refuse a misspelt envelope."""
    if envelope not in ENVELOPES:
        raise BadInput(f"an envelope is one of {', '.join(ENVELOPES)}; got {envelope!r}.")
    return envelope
