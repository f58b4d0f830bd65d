"""Whether the checks have seen a mechanism ask everything that it can ask: what was never asked was never checked.

Two things a mechanism may say of itself, if its code alone says too much: a classmethod ``variants(model)`` gives other
parameters with which it asks more, and a property ``unasked`` the verbs that it never asks under its model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from penstock.checks.lost import Losing
from penstock.checks.shadow import Shadow
from penstock.checks.subject import Kernel, Subject, example_models
from penstock.checks.verbs import methods_named, verbs_by_method
from penstock.curator import Curator
from penstock.desk import Question
from penstock.errors import BadInput, CheckFailed
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.noise import SimulationNoise
from penstock.streams import Stream

T = TypeVar("T")


@dataclass
class Heard:
    """What was asked, what could have been asked, and what the mechanism says it never asks."""

    asked: set[str] = field(default_factory=set)
    askable: set[str] = field(default_factory=set)
    unasked: set[str] = field(default_factory=set)
    handles: set[type] = field(default_factory=set)

    def answer(self, question: Question, compute: Callable[[], T]) -> T:
        """Let the answer through, and take down the verb of the question."""
        self.asked.add(question.verb)
        return compute()

    @property
    def unused(self) -> set[str]:
        """The kinds of handles that were made, and asked nothing of what they are for."""
        needed = {kind: set(_verbs_of(kind)) - self.unasked for kind in self.handles}
        return {kind.__name__ for kind, verbs in needed.items() if verbs and not verbs & self.asked}


def asks_every_verb(subject: Subject) -> None:
    """In the streams of the checks, the mechanism asks all that its code can ask, and uses every handle it makes."""
    heard: dict[int, Heard] = defaultdict(Heard)
    for way in (subject.parameters, *variants(subject.mechanism, subject.model)):
        tried = replace(subject, parameters=way)
        for seed, stream in enumerate(tried.streams()):
            _listen(tried, stream, seed, heard[stream.bins])
    asked = set[str]().union(*(seen.asked for seen in heard.values()))
    for bins, seen in heard.items():
        contrary = seen.asked & seen.unasked
        subject.require(not contrary, f"what it declares unasked is not asked ({_listed(contrary)})")
        _require_seen(subject, seen.askable - seen.unasked - asked, "")
        _require_seen(subject, seen.unused, f" of {bins} bin{'s' if bins > 1 else ''}")


def subjects(mechanism: type[Mechanism], parameters: Mapping[str, Any] | None = None) -> list[Subject]:
    """What there is to check of a mechanism: each variant of it, under small models of every kind it claims."""
    models = [model for law in mechanism.proven_for for model in example_models(law)]
    ways = [(model, way) for model in models for way in ({}, *variants(mechanism, model))]
    return [Subject(mechanism, model, parameters={**(parameters or {}), **way}) for model, way in ways]


def variants(mechanism: type[Mechanism], model: PrivacyModel) -> Sequence[dict[str, Any]]:
    """Parameters with which a mechanism asks what it does not ask by default, if it says so: ``variants(model)``."""
    stated = getattr(mechanism, "variants", None)
    return stated(model) if stated else ()


def unasked(mechanism: Mechanism) -> Set[str]:
    """The verbs that a mechanism, once begun, says it never asks under its model: its property ``unasked``."""
    stated: Set[str] = getattr(mechanism, "unasked", frozenset())
    return stated


def _require_seen(subject: Subject, never: set[str], where: str) -> None:
    if never:
        raise CheckFailed(
            f"{subject} was never seen to ask {_listed(never)}{where}, so no check has looked at it; state variants"
            " that lead there, or that it is unasked."
        )


def _listen(subject: Subject, stream: Stream, seed: int, heard: Heard) -> None:
    """Publish a stream, once as it is and once with steps that are lost, and take down what is asked."""
    made: list[Curator] = []

    def curator(*arguments: Any, **options: Any) -> Curator:
        made.append(subject.kernel.curator(*arguments, **options))
        return made[-1]

    noted = replace(subject, kernel=Kernel(curator, subject.kernel.noise))
    mechanism = noted.start(SimulationNoise(seed), bins=stream.bins, answers=heard.answer)
    heard.unasked |= unasked(mechanism)
    heard.handles |= {type(handle) for handle in made[0].handles}
    heard.askable |= askable(subject, heard.handles)
    for snapshot in stream:
        noted.step(mechanism, snapshot)
    shadow = Shadow(SimulationNoise(seed), subject.model, stream.bins)

    def answer(question: Question, compute: Callable[[], T]) -> T:
        return heard.answer(question, partial(shadow.answer, question, compute))

    for _ in Losing(subject, shadow, stream, answer).losses():
        pass


def askable(subject: Subject, handles: set[type]) -> set[str]:
    """The verbs that the mechanism's code can ask, of its curator and of such handles as it has made."""
    of_curator, of_others = methods_named(subject.mechanism)
    elsewhere = {name for kind in handles for name in verbs_by_method(kind)}
    found = _verbs_of(Curator, of_curator | (of_others - elsewhere))
    for kind in handles:
        found |= _verbs_of(kind, of_others)
    return found - refused(subject)


def _verbs_of(part: type, names: Set[str] | None = None) -> set[str]:
    """The verbs of a part of the kernel: of all of its methods, or of those with these names."""
    methods = verbs_by_method(part)
    return {verb for name, verbs in methods.items() if names is None or name in names for verb in verbs}


def refused(subject: Subject) -> set[str]:
    """The verbs that the model itself refuses: points are published once, and samples need one record a person."""
    verbs = {"median"}
    try:
        subject.model.require_sampling()
    except BadInput:
        verbs.add("sampled")
    return verbs


def _listed(verbs: set[str]) -> str:
    return ", ".join(sorted(verbs))
