"""A privacy statement to be read: lists under headings, so that the plainest of renderers shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from penstock.domain import PLAIN
from penstock.proofs import PROVED
from penstock.statement.origin import Origin, Proof
from penstock.statement.stating import Data, Released, Spent, Statement
from penstock.static.declared import ONCE

NOT_DECLARED = "not declared"
UNKNOWN = "not known to this installation"
UNPUBLISHED = "none; what it does and why that is private, its proof says"
COMMON = "stretch that all of them protect"
SPECIAL = re.compile(r"[\\`*\[\]<>|&~]|(?<![^\W_])_|_(?![^\W_])")

Line = tuple[str, str | Sequence[str]]  # what it is about, and what there is to say; several things in a list

ABOUT = (
    "The published {} carry random noise, which limits what they tell about any one person. This statement says"
    " whom that protects, how strongly, and what it rests on."
)
RELATIONS = {
    "add-remove": "records are added or removed",
    "replace": "records are added, removed or replaced by others",
}
UNITS = {"auto": f"{NOT_DECLARED}; the labels of the first releases tell", "row": "as each label says"}
WHY_REPEATED = {
    "refused": "for which not enough budget was left",
    "failed": "in which the software failed (what they may have cost counts as spent)",
    "lost": "lost when a process died (what they may have cost counts as spent)",
    "missing": "without input",
    "over": "after the horizon",
    "adopted": "published from a copy of the store that is gone (their budget counts as spent)",
}


def as_markdown(statement: Statement) -> str:
    """The statement as Markdown."""
    promise = statement.promise
    told = [f"{name} = {value}" for name, value in promise.parameters.items()]
    sections: list[tuple[str, Iterable[Line]]] = [
        ("Whom it protects", [("Protected", promise.protects), ("Not, or less, protected", promise.does_not_protect)]),
        (
            "How strongly",
            [
                ("Model", f"{', '.join([promise.model, *told])}; {_relation(statement)}"),
                ("Epsilon", f"{promise.epsilon} (the larger, the weaker)"),
                ("Delta", f"{promise.delta} (pure differential privacy)"),
                ("What that means", _meaning(statement)),
                ("Population", _population(statement)),
            ],
        ),
        ("What is published", _published(statement)),
        ("What the publisher declares", _declared(statement)),
        ("What is public", [("Taken to be public", _public(statement)), ("Trusted", statement.trust)]),
        ("How the releases are made", _origin(statement)),
        ("What was spent", _spent(statement)),
        ("How to read the values", [("Values", statement.reading)]),
    ]
    written = (f"## {heading}\n\n{_listed(lines)}" for heading, lines in sections)
    about = ABOUT.format("numbers" if is_once(statement) else "counts")
    return "\n".join([f"# Privacy statement: {escaped(statement.stream)}\n\n{about}\n", *written])


def is_once(statement: Statement) -> bool:
    """Whether it is about points that are published once, and not about a stream."""
    return statement.data.every == ONCE


def escaped(text: str) -> str:
    """Text that means in Markdown what it says, on one line."""
    return SPECIAL.sub(r"\\\g<0>", "".join(each if each.isprintable() else " " for each in text))


def _listed(lines: Iterable[Line]) -> str:
    written = ""
    for about, said in lines:
        if isinstance(said, str):
            written += f"- **{about}:** {escaped(said)}\n"
        else:
            written += f"- **{about}:**\n" + "".join(f"  - {escaped(each)}\n" for each in said)
    return written


def _meaning(statement: Statement) -> str:
    promise = statement.promise
    return (
        "Take two courses of events that differ by such a change and in nothing else. All releases together, whatever"
        f" else somebody knows, move the odds between the two by a factor of at most e^epsilon = {promise.odds}, up or"
        f" down. Somebody who thought both equally likely ends up at most {promise.chance} sure of one of them (both"
        " numbers are rounded up)."
    )


def _relation(statement: Statement) -> str:
    return "a point is moved" if is_once(statement) else RELATIONS[statement.promise.relation]


def _population(statement: Statement) -> str:
    people, common = statement.population, "move that all of them hide" if is_once(statement) else COMMON
    if people is None:
        return f"{NOT_DECLARED}. If other streams are about the same people, their epsilons add to this one."
    total = NOT_DECLARED if people.epsilon is None else people.epsilon
    return (
        f'"{people.name}", total epsilon {total}. Its streams (so far {people.streams}, with {people.set_aside} set'
        f" aside) may not spend more than that together on a {common}. Streams that are kept elsewhere are not counted."
    )


def _published(statement: Statement) -> list[Line]:
    data, released = statement.data, statement.released
    others = [f"{number} {WHY_REPEATED[cause]}" for cause, number in released.repeated.items() if number]
    if is_once(statement):
        return [("Numbers", str(data.bins)), ("When", "once"), ("Published", _whether(released, others))]
    return [
        ("Bins", _bins(data)),
        ("Time unit", data.time_unit or UNITS.get(data.every, f"{data.every} in the numbers of its labels")),
        ("Releases so far", f"{released.units}, {released.first} to {released.last}" if released.units else "none"),
        ("Of these measured anew, at least in part", str(released.fresh)),
        ("Units that could not be measured", others or "none"),
    ]


def _whether(released: Released, others: Sequence[str]) -> str:
    """What has become of the one unit there is."""
    if not released.units:
        return "not yet"
    return "no, and it never will be: its budget is spent" if others else "yes"


def _bins(data: Data) -> str:
    if data.bins is None or data.attributes is None:
        return NOT_DECLARED
    if list(data.attributes) == [PLAIN]:
        return str(data.bins)
    made_of = " and ".join(f"{name} (values: {size})" for name, size in data.attributes.items())
    return f"{data.bins}, one for every combination of {made_of}"


def _declared(statement: Statement) -> list[Line]:
    bounds = statement.bounds
    late = f"{bounds.late_data}." if bounds.late_data else f"{NOT_DECLARED}. {bounds.late_data_consequence}"
    if is_once(statement):
        return [("Points of a person", f"at most {bounds.per_unit}. {bounds.enforcement}"), ("Late data", late)]
    records = f"at most {bounds.per_unit}, in all bins together. {bounds.enforcement}"
    return [
        ("Records of a person in a time unit", records),
        ("Late data", late),
        ("Units without input", bounds.missing_units or NOT_DECLARED),
    ]


def _public(statement: Statement) -> list[str]:
    proof = statement.origin.proof
    where = UNKNOWN if proof is None else f"see {proof.file}"
    return [*statement.public, f"What {statement.origin.mechanism} itself takes to be public: {where}."]


def _origin(statement: Statement) -> list[Line]:
    origin = statement.origin
    shape = f", of {'x'.join(map(str, origin.shape))}" if origin.shape else ""
    parameters = [f"{name} = {'automatic' if value is None else value}" for name, value in origin.parameters.items()]
    measured = ("How a histogram is measured", f"{origin.histogram or UNKNOWN}{shape}")
    return [
        ("Mechanism", f"{origin.mechanism}: {origin.summary or UNKNOWN}"),
        *(
            () if is_once(statement) else [("Paper", UNKNOWN if origin.paper is None else origin.paper or UNPUBLISHED)]
        ),  # which its summary names
        ("Parameters", ", ".join(parameters) or "none"),
        *([measured] if origin.histogram or not is_once(statement) else ()),
        ("Noise", origin.noise),
        ("Proof", _proof(origin)),
        ("Software", _software(statement)),
    ]


def _proof(origin: Origin) -> str:
    proof = origin.proof
    if proof is None:
        return f"{UNKNOWN}; ask the publisher for it"
    if proof.status != PROVED or not proof.covers_model:
        return (
            f"{proof.status}, and not finished for this model: the publisher has allowed it all the same ({proof.file})"
        )
    return f"{proof.status} in {proof.file}; {_read_against(proof)}"


def _read_against(proof: Proof) -> str:
    if proof.current:
        return f"read against exactly the code that is used (fingerprint of the mechanism: {proof.reviewed})"
    return (
        f"read against code with the fingerprint {proof.reviewed}, and releases were made by {', '.join(proof.code)}:"
        " whether it covers them is not known"
    )


def _software(statement: Statement) -> str:
    versions = statement.origin.versions
    made = f"penstock {', '.join(versions)}" if versions else "nothing is released yet"
    return f"{made}; this statement is by {statement.stated_by}"


def _spent(statement: Statement) -> list[Line]:
    spent = statement.spent
    return [
        ("Charges booked", str(spent.charges)),
        ("Most spent on any protected stretch so far", _fullest(spent, statement.promise.epsilon)),
        ("Up to unit", str(spent.unit) if spent.unit else "none yet"),
        ("Link of that release, which ties this statement to it", spent.link or "none yet"),
    ]


def _fullest(spent: Spent, epsilon: str) -> str:
    if spent.fullest_set is None:
        return f"sealed, since it would tell who was present; the ledger allows {epsilon} at most"
    return f"{spent.fullest_set} of {epsilon}, counted again from the stored charges" if spent.unit else "none yet"
