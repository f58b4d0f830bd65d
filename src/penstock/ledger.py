"""The budget: exact, append-only, and asked before anything is drawn.

A charge is an immutable fact about the data it reads. A ``Point`` concerns one time unit; a ``Span`` concerns a
stretch of them and counts once in every protected set that meets it, however often. The ledger refuses any charge that
would put some protected set above the model's epsilon, which is the whole of the privacy argument (docs/guarantees.md):

    if for every transcript the charges that touch a protected set add up to at most epsilon,
    then the release is epsilon-differentially private for that model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.charges import Charge, Fact, Point, Span, Touch
from penstock.epsilon import Epsilon, require_epsilon
from penstock.errors import BadInput, BadState, BudgetExceeded, OutOfOrder
from penstock.meters import NOBODY, Meter, Roll
from penstock.models import MContext, PrivacyModel
from penstock.population import Population
from penstock.uncopied import Uncopied

ENVELOPES = ("decide", "publish", "monitor", "quality")
LOST = "lost"  # the label of what a step that nobody saw the end of may have spent; no mechanism can use it


Journal = Callable[[Fact], None]


@dataclass(frozen=True)
class Audit:
    """The outcome of a recount: the fullest protected set so far, against the law."""

    peak: Epsilon
    limit: Epsilon

    @property
    def holds(self) -> bool:
        return self.peak <= self.limit


class Ledger(Uncopied):
    """All charges of one stream, kept as far back as a protected set can still reach.

    Every amount is held to be an Epsilon before anything is done with it.
    """

    def __init__(
        self, model: PrivacyModel, *, population: Population | None = None, journal: Journal | None = None
    ) -> None:
        if population is not None:
            population.join(model)
        self._model = model
        self._limit = model.epsilon.nano
        self._t = 0
        self._sequence = 0
        self._charged = 0
        self._journal = journal
        self._meter = model.meter()
        self._caps: dict[str, tuple[Meter, int]] = {}
        self._spans: dict[int, Span] = {}
        self._roll = Roll(model.max_users) if isinstance(model, MContext) else None
        self._peak = 0
        self._aside: dict[str, int] = {}  # nano-epsilon that was reserved in the current unit and not settled
        self._over = False  # whether the current unit lies past the horizon, so that nothing of it can be paid for

    @property
    def model(self) -> PrivacyModel:
        """The law that it keeps."""
        return self._model

    @property
    def t(self) -> int:
        """The current time unit; 0 before the first."""
        return self._t

    @property
    def sequence(self) -> int:
        """How many charges were ever booked."""
        return self._sequence

    @property
    def charged(self) -> int:
        """How many nano-epsilon were booked in the current unit."""
        return self._charged

    def cap(self, **envelopes: Epsilon) -> None:
        """Give envelopes budgets of their own, inside the model's. Only before the first charge."""
        if self.sequence:
            raise BadInput("envelopes are capped before the first charge; call cap() in begin().")
        for envelope, limit in envelopes.items():
            self._caps[require_envelope(envelope)] = (self.model.meter(), require_epsilon(limit).nano)

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
        self._t, self._charged, self._over = t, 0, self.model.is_over(t)
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
        total = sum(require_epsilon(e).nano for name, e in envelopes.items() if require_envelope(name))
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
        if envelope is not None and require_envelope(envelope) in self._caps:
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
        lost = min(require_epsilon(most), self.remaining())
        if lost:
            self._move(lost.nano, LOST, lost.nano)
            self._book(Point(self.t, lost, LOST))

    def add(self, e: Epsilon, envelope: str, *, within: Epsilon | None = None) -> None:
        """Charge ``e`` to the current unit, or refuse. ``within``: its cost inside the envelope, where that differs."""
        inside = require_epsilon(e if within is None else within)
        self._require(require_epsilon(e), envelope, inside)
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
            if self._aside.get(envelope, 0) < require_epsilon(e).nano or not _is_part(due.get(envelope), e):
                raise BadInput("only what was reserved in this time unit can be handed back, and no more of it be due.")
            self._aside[envelope] -= e.nano
            kept = due[envelope].nano if envelope in due else 0
            self._move(kept - e.nano, envelope, kept - e.nano)
        for envelope, e in due.items():
            self._book(Point(self.t, e, envelope))

    def open(self, e: Epsilon, envelope: str) -> Span:
        """Start a span charge at the current unit, or refuse."""
        self._require(require_epsilon(e), envelope, e)
        span = Span(self.t, None, e, require_envelope(envelope), self.sequence)
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
        """The span's last reading of data was at unit ``last``: no earlier than its first, at the latest the next."""
        span = self._spans[key]
        if not span.a <= last <= self.t + 1:  # the next unit may have been read by a process that died in it
            raise BadInput(f"a span is closed at a unit from t={span.a} to t={self.t + 1}; got t={last}.")
        del self._spans[key]
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
        self._t, self._sequence, self._peak = public["t"], public["sequence"], public["peak"]
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
        self._sequence += 1
        self._charged += charge.e.nano
        self._peak = max(self._peak, self._meter.total)
        if self._journal:
            self._journal(charge)

    def _require(self, e: Epsilon, envelope: str, within: Epsilon) -> None:
        capped = self._caps.get(require_envelope(envelope))
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


def _is_part(due: Epsilon | None, e: Epsilon) -> bool:
    """Whether what is due, if anything is, is no more than what was reserved."""
    return due is None or require_epsilon(due) <= e


def _read(meter: Meter, span: int | None) -> int:
    return meter.total if span is None else meter.if_touched(span)


def require_envelope(envelope: str) -> str:
    """Refuse a misspelt envelope, and what merely looks like one."""
    if type(envelope) is not str or envelope not in ENVELOPES:
        raise BadInput(f"an envelope is one of {', '.join(ENVELOPES)}; got {envelope!r}.")
    return envelope
