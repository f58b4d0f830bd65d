"""What ``penstock run`` is told, by a TOML file, by options, or by both; options win."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from penstock import catalogue
from penstock.cli.opening import name_of, require_people
from penstock.domain import Domain
from penstock.errors import BadInput
from penstock.histograms import Laplace
from penstock.histograms.catalogue import require_shape
from penstock.laws import MODELS, model_of
from penstock.mechanisms.base import Mechanism
from penstock.models import MContext
from penstock.own import is_file
from penstock.parameters import as_path, nearest, require_name, resolved
from penstock.post import SlidingSum
from penstock.streams import Calendar, Candidate, read
from penstock.streams.lines import STANDARD

COMMON = ("epsilon", "neighbours", "per_unit")
PATHS = ("input", "presence", "output", "store", "key", "head")


@dataclass
class Settings:
    """Everything a run needs. The field names are the keys of the TOML file."""

    input: str = ""
    presence: str | None = None
    output: str = STANDARD
    store: str = ""
    stream: str = ""
    key: str | None = None
    head: str | None = None
    population: str | None = None
    population_epsilon: str | None = None
    time: str | None = None
    every: str = "auto"
    gaps: bool = False
    width: int | None = None
    input_format: str | None = None
    output_format: str | None = None
    mechanism: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)

    def require_complete(self) -> None:
        """Refuse to guess what is missing."""
        for name in ("input", "store"):
            if not getattr(self, name):
                raise BadInput(f'say which {name} to use: --{name} PATH, or {name} = "PATH" in the TOML file.')
        if not self.model.get("name"):
            raise BadInput("say whom to protect, and how: --model w-event --epsilon 1 --w 52, for example.")
        require_people(self.population, self.population_epsilon)
        for what, name in (("a stream", self.name), ("a population", self.population or "nobody")):
            require_name(what, name)
        self.sliding()
        self._require_presence()
        require_different_files({name: getattr(self, name) for name in PATHS})
        Calendar(self.every)

    def _require_presence(self) -> None:
        """Who is present is asked for under m-context, and under no other model."""
        wanted = self.model["name"] == "m-context"
        if wanted and not self.presence:
            raise BadInput("m-context protects those who are present; list them in a file: --presence present.csv.")
        if self.presence and not wanted and self.model["name"] in MODELS:  # else that is what is wrong
            raise BadInput(f"a list of who is present is for m-context; under {self.model['name']} leave it out.")

    def sliding(self) -> SlidingSum:
        """What is done to releases before they are written; sums of one unit are the unit."""
        return SlidingSum(1 if self.width is None else self.width)

    def source(self) -> Candidate:
        """The counts, and who is present in them."""
        return read(self.input, form=self.input_format, time=self.time, presence=self.presence)

    @property
    def name(self) -> str:
        """The name of the stream: as told, or that of the input."""
        return name_of(self.stream, self.input)

    def made(self) -> Mechanism:
        """The mechanism, under its model."""
        parameters = dict(self.mechanism)
        model = model_of(self.model)
        usual = "ma" if isinstance(model, MContext) else "auto"
        return catalogue.made(str(parameters.pop("name", usual)), parameters, model)


def require_different_files(named: Mapping[str, str | None]) -> None:
    """Refuse to write where something else is read or kept."""
    paths = [(name, resolved(path)) for name, path in named.items() if path and path != STANDARD]
    for i, (name, path) in enumerate(paths):
        for other, same in paths[:i]:
            if path == same:
                raise BadInput(f"{name} and {other} are the same file, {path}; name another one.")


def shaped(made: Mechanism, bins: Sequence[str]) -> Mechanism:
    """The mechanism with the shape that names like ``age=17&sex=f`` tell, if its method can use one and has none."""
    if made.shape is not None:
        require_shape(made.shape, len(bins))
    if made.shape is not None or isinstance(made.histogram, Laplace):
        return made
    domain = Domain.of_bins(bins)
    return made if domain.is_plain else replace(made, shape=domain.shape)


def require_same_origin(output: str, written: str, following: str) -> None:
    """Refuse to go on with an output whose last row comes from something else than what would follow."""
    if written not in ("", following):
        raise BadInput(f"the rows of {output} are of {written}, not of {following}; name another output.")


def read_toml(path: Path, hint: str = "") -> dict[str, Any]:
    """What a TOML file says; ``hint`` is what to do if it is something else."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as fault:
        raise BadInput(f"the file {path} cannot be read: {fault.strerror}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"the file {path} is not UTF-8 text; save it as such.") from None
    except RecursionError:
        raise BadInput(f"the file {path} is not valid TOML: it is nested too deeply.{hint}") from None
    except ValueError as fault:  # a number of thousands of digits is not even a TOMLDecodeError
        raise BadInput(f"the file {path} is not valid TOML: {str(fault)[:1].lower()}{str(fault)[1:]}.{hint}") from None


def from_toml(path: Path) -> Settings:
    """Settings from a file; paths in it are relative to its folder."""
    told = read_toml(path, "" if path.suffix == ".toml" else " If it holds the counts, write --input before it.")
    known = [each.name for each in fields(Settings)]
    for key in told:
        if key not in known:
            raise BadInput(f"{path.name} has a key {key!r}, which means nothing here.{nearest(key, known)}")
    settings = Settings(**{key: _checked(path.name, key, value) for key, value in told.items()})
    for key in PATHS:
        value = getattr(settings, key)
        if value and value != STANDARD:
            setattr(settings, key, str(path.parent / as_path(value)))
    own = settings.mechanism.get("name", "")
    if isinstance(own, str) and is_file(own):
        settings.mechanism["name"] = str(path.parent / own)
    return settings


def _checked(file: str, key: str, value: Any) -> Any:
    """Refuse a value of the wrong kind."""
    if key in ("mechanism", "model"):
        if isinstance(value, str):
            return {"name": value}
        right = isinstance(value, dict)
    elif key == "gaps":
        right = isinstance(value, bool)
    elif key == "width":
        right = isinstance(value, int) and not isinstance(value, bool)
    elif key == "population_epsilon":
        value, right = str(value), isinstance(value, (int, float, str))
    else:
        right = isinstance(value, str)
    if not right:
        raise BadInput(f"{key} in {file} has a value of the wrong kind; see docs/operating.md for what it takes.")
    return value


def overridden(settings: Settings, **told: Any) -> Settings:
    """The settings with what was told by options; None means that an option was not given."""
    for name, value in told.items():
        if value is not None:
            current = getattr(settings, name)
            setattr(settings, name, _merged(current, value) if isinstance(current, Mapping) else value)
    return settings


def _merged(told: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of before and of now; of those of another mechanism or model only what all have in common."""
    other = "name" in now and now["name"] != told.get("name")
    kept = {key: value for key, value in told.items() if not other or key in COMMON}
    return {**kept, **now}


def parameters_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Parameters as they are written on a command line: ``warm_up=10``."""
    parameters = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise BadInput(f"a parameter is written name=value; got {pair!r}.")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
            parameters[name.strip()] = text if text.strip().startswith("0x") else value  # 0x4 is a shape, if anything
        except (ValueError, RecursionError):  # of which TOMLDecodeError is one
            parameters[name.strip()] = text
    return parameters
