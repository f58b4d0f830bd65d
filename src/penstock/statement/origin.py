"""Where releases come from, in words: the mechanism with all of its parameters, and the state of its proof."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Any

from penstock import catalogue
from penstock.histograms import Laplace
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.proofs import PROVED, fingerprint, proof_of
from penstock.spatial import SpatialNeighbourhood
from penstock.statement import once
from penstock.static import Publication
from penstock.static.declared import PUBLICATIONS, usual_parameters

NOISE = (
    "discrete Laplace, exact up to tails with a chance below 2^-256; drawn from AES-256 under keys from the operating"
    " system"
)
MEASURING = ("histogram", "shape")

Maker = type[Mechanism] | type[Publication]


@dataclass(frozen=True)
class Proof:
    """A proof, and whether it was read against the code that made the releases; if nothing is, the code at hand."""

    status: str
    covers_model: bool
    current: bool
    reviewed: str
    code: tuple[str, ...]
    file: str


@dataclass(frozen=True)
class Origin:
    """A mechanism or a publication. ``proof`` is None, and more is not known, of one that is not installed here."""

    mechanism: str
    summary: str | None
    paper: str | None
    parameters: dict[str, Any]
    histogram: str | None
    shape: tuple[int, ...] | None
    noise: str
    versions: tuple[str, ...]
    proof: Proof | None


def origin_of(name: str, told: Mapping[str, Any], model: PrivacyModel, versions: Sequence[str]) -> Origin:
    """The mechanism of a class name. ``versions`` are those that releases name: a package's, and a fingerprint."""
    kind = _installed(name, model)
    parameters = _usual(kind) | dict(told)
    shape = parameters.get("shape")
    return Origin(
        name,
        (inspect.getdoc(kind) or "").split("\n")[0] if kind else None,
        kind.paper if kind and issubclass(kind, Mechanism) else None,
        {key: value for key, value in parameters.items() if key not in MEASURING},
        parameters.get("histogram"),
        tuple(shape) if shape else None,
        once.NOISES.get(name, NOISE) if isinstance(model, SpatialNeighbourhood) else NOISE,
        tuple(dict.fromkeys(version.partition("+")[0] for version in versions)),
        _proof(kind, model, versions) if kind else None,
    )


def _installed(name: str, model: PrivacyModel) -> Maker | None:
    if isinstance(model, SpatialNeighbourhood):
        return PUBLICATIONS.get(name)
    try:
        found: type[Mechanism] = catalogue.by_class_name(name)
    except AttributeError:
        return None
    return found


def _usual(kind: Maker | None) -> dict[str, Any]:
    """Parameters that nobody chose; a histogram is measured by a Laplace unless somebody says else."""
    if kind is None:
        return {}
    if issubclass(kind, Publication):
        return usual_parameters(kind)
    defaults = {field.name: field.default for field in kind.parameter_fields()}
    known = {name: value for name, value in defaults.items() if value is not MISSING}
    return {name: str(value) if isinstance(value, Laplace) else value for name, value in known.items()}


def _proof(kind: Maker, model: PrivacyModel, versions: Sequence[str]) -> Proof:
    """The proof beside a mechanism, compared with the code that releases name."""
    found = proof_of(kind)
    code = tuple(dict.fromkeys(version.partition("+")[2] for version in versions)) or (fingerprint(kind),)
    covers = type(model).__name__ in found.claims
    return Proof(
        found.status,
        covers,
        found.status == PROVED and covers and set(code) == {found.reviewed},
        found.reviewed,
        code,
        f"{kind.__module__.replace('.', '/')}.md",
    )
