"""All streams of the benchmark by name, and how one is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from penstock.bench.suite.events import DAY, Binning
from penstock.bench.suite.files import codes
from penstock.bench.suite.naming import Loaded, Named
from penstock.bench.suite.recipes import Recipe
from penstock.bench.suite.stand_ins import CHARACTERS, SEED, stand_in
from penstock.errors import BadInput
from penstock.parameters import at_least_one, nearest
from penstock.streams import Repeatable, Rows, synthetic
from penstock.streams.objects import moving_objects
from penstock.streams.people import census
from penstock.streams.site import pages
from penstock.streams.taxis import taxi_grid
from penstock.types import Ints

LONG_ENOUGH = 4000  # units, so that the longest windows slide for a while, and no stream takes all the time
PEOPLE = 5000
SHOWN = 5  # names in a refusal
PREFIX = re.compile(r"(.*)\[:(\d{1,9})\]")

_LONG, _WHOLE = Recipe(steps=LONG_ENOUGH), Recipe()
_GRID_8, _GRID_10 = (8, 8), (10, 10)

# Name, what it is, its file, what is done with it. In the order of the leaderboard.
_OF_FILES = (
    ("flu_out", "weekly visits to doctors for flu, United States", "flu_outpatient.csv", _LONG),
    ("flu_death", "weekly deaths from flu, United States", "flu_death.csv", _LONG),
    ("unemp", "people without a job by the month, in thousands, United States", "unemployment.csv", _LONG),
    ("state_flu", "weekly visits to doctors for flu by state, United States", "state_flu.csv", _LONG),
    ("tdrive", "taxis by region of Beijing", "tdrive64.csv", _LONG),
    ("retail", "weekly sales by department", "retail_100.csv", _LONG),
    ("taxi", "passengers of taxis by the half hour, New York", "nyc_taxi_30min.csv", _LONG),
    ("wc98h", "requests to the site of the World Cup 1998 by the hour", "worldcup98_hour.csv", _LONG),
    ("flu_age", "weekly visits to doctors for flu by age group, United States", "flu_outpatient_age.csv", _LONG),
    (
        "geolife",
        "people by cell of Beijing and minute of the day, all days together",
        "geolife_dayfold.csv",
        replace(_LONG, shape=_GRID_8),
    ),
)
# Name, what it is, its kind, bins, units. Seeds are 1, 2, 3, ... in this order: none is picked.
_GENERATED = (
    ("syn1", "independent, uniform up to 200", "spas_1", 1, LONG_ENOUGH),
    ("syn2", "uniform up to 1000, then normal about 1000", "spas_2", 1, LONG_ENOUGH),
    ("syn3", "uniform up to 10,000, then normal about 1000", "spas_3", 10, LONG_ENOUGH),
    ("const", "nothing ever changes", "constant", 1, LONG_ENOUGH),
    ("rw1", "a random walk with steps of 1", "walk_1", 1, LONG_ENOUGH),
    ("rw5", "a random walk with steps of 5", "walk", 1, LONG_ENOUGH),
    ("rw30", "a random walk with steps of 30", "walk_30", 1, LONG_ENOUGH),
    ("rw200", "a random walk with steps of 200", "walk_200", 1, LONG_ENOUGH),
    ("steps", "calm for long, then a jump", "steps", 1, LONG_ENOUGH),
    ("bursty", "calm, with short bursts", "bursty", 1, LONG_ENOUGH),
    ("diurnal", "days with two peaks, and weekends", "diurnal", 1, LONG_ENOUGH),
    ("sparse", "many bins, most of them empty almost always", "sparse", 200, LONG_ENOUGH),
)
_MORE_OF_FILES = (
    ("retail_1000", "weekly sales by department, many of them, once", "retail_1000.csv", _WHOLE),
    ("wc98_minute", "requests to the site of the World Cup 1998 by the minute", "worldcup98_minute.csv", _WHOLE),
    (
        "geolife_hour",
        "people by cell of Beijing and hour, half a year",
        "geolife_hour_2009h1.csv",
        Recipe(shape=_GRID_8),
    ),
    (
        "tdrive_minute",
        "taxis by cell of Beijing and minute, one hour",
        "tdrive_sample_1min.csv",
        Recipe(shape=_GRID_10),
    ),
    ("authors_syn1", "independent, uniform up to 200, as the authors of SPAS drew it", "synthetic1.csv", _WHOLE),
    ("authors_syn2", "uniform, then normal, as the authors of SPAS drew it", "synthetic2.csv", _WHOLE),
    ("authors_syn3", "uniform, then normal, ten bins, as the authors of SPAS drew it", "synthetic3.csv", _WHOLE),
)
# The authors of SPAS repeat their streams like this; their readers lose the first row of some of their files.
_AS_THE_AUTHORS = {
    "flu_out": Recipe(copies=4),
    "flu_death": Recipe(copies=10, dropped=1, seasons=True),
    "unemp": Recipe(copies=8, first=609, dropped=1),
    "state_flu": Recipe(copies=6, dropped=1),
    "tdrive": Recipe(copies=2, dropped=1),
    "retail": Recipe(steps=3627),
}


def _all() -> Iterator[Named]:
    for name, about, file, recipe in _OF_FILES:
        repeated = f", repeated to {LONG_ENOUGH:,} units" if CHARACTERS[file].steps < LONG_ENOUGH else ""
        yield _of_file(name, about + repeated, file, recipe)
    for seed, (name, about, kind, bins, steps) in enumerate(_GENERATED, start=1):
        yield _generated(name, about, partial(synthetic, kind, bins=bins, steps=steps, seed=seed))
    for name, about, file, recipe in _MORE_OF_FILES:
        yield _of_file(name, about, file, recipe)
    for name, about, file, _ in _OF_FILES:
        if name in _AS_THE_AUTHORS:
            yield _of_file(f"peers_{name}", f"{about}, as the authors of SPAS repeat it", file, _AS_THE_AUTHORS[name])
    yield from _events_and_crowds()


def _events_and_crowds() -> Iterator[Named]:
    about = "people by cell of Beijing and day, counted from their events"
    yield _of_file("geolife_events", about, "geolife_events.csv", Binning(8, DAY))
    about = "taxis by cell of Beijing and minute, counted from their events; thin in the second hour"
    yield _of_file("tdrive_events", about, "tdrive_events.csv", Binning(10, 1))
    yield _generated("weekly", "days of a week, and a slow trend", partial(synthetic, "weekly", steps=2000, seed=SEED))
    about = "people by age, gender and education, some of whom are exchanged in every unit"
    yield Named("census", about, "census_pool.csv", _census, lambda path: _census(codes(path)))
    about = "taxis of a made-up city by cell and hour, four weeks"
    yield _generated("taxi_grid", about, partial(taxi_grid, steps=672, seed=SEED))
    about = "objects on the roads of a made-up country"
    yield _generated("moving_objects", about, partial(moving_objects, 5000, side=32, steps=500, seed=SEED))
    about = "requests by page and hour to a made-up site"
    yield _generated("pages", about, partial(pages, 1000, steps=500, seed=SEED))


def _census(pool: Ints | None = None) -> Rows:
    return census(PEOPLE, attributes=3, steps=500, pool=pool, seed=SEED)


def _of_file(name: str, about: str, file: str, made: Recipe | Binning) -> Named:
    return Named(name, about, file, partial(made.stood_in, partial(stand_in, file)), made.read)


def _generated(name: str, about: str, made_up: Callable[[], Repeatable]) -> Named:
    return Named(name, about, "", made_up)


NAMED: Mapping[str, Named] = {each.name: each for each in _all()}
LONG = tuple(islice(NAMED, len(_OF_FILES) + len(_GENERATED)))  # those of the leaderboard
PEERS: Mapping[str, str] = {  # what the authors of SPAS call a stream
    "flu outpatient": "peers_flu_out",
    "flu death": "peers_flu_death",
    "unemployment": "peers_unemp",
    "synthetic 2": "authors_syn2",
    "state flu": "peers_state_flu",
    "T-Drive": "peers_tdrive",
    "synthetic 3": "authors_syn3",
    "retail": "peers_retail",
}


def load(name: str, data: Path | None) -> Loaded:
    """The stream of this name, or its first units ("flu_out[:180]").

    A stream of a file that the folder does not have, or of any file if there is no folder, is a made-up one instead;
    its origin says so.
    """
    part = PREFIX.fullmatch(name)
    return named(name).loaded(data) if part is None else prefix(load(part[1], data), int(part[2]))


def named(name: str) -> Named:
    """What a name stands for, also one of first units."""
    part = PREFIX.fullmatch(name)
    if part is not None:
        return named(part[1])
    if name not in NAMED:
        some = f"{', '.join(islice(NAMED, SHOWN))} and others"
        raise BadInput(
            f"there is no stream {name!r}; there are {some}, see penstock bench streams.{nearest(name, NAMED)}"
        )
    return NAMED[name]


def prefix(loaded: Loaded, steps: int) -> Loaded:
    """The first units of a stream, as a stream."""
    at_least_one("steps", steps)
    if steps > len(loaded):
        raise BadInput(f"{loaded.name} has {len(loaded)} units, which is fewer than {steps}; take fewer of them.")
    return replace(loaded, name=f"{loaded.name.split('[')[0]}[:{steps}]", counts=loaded.counts[:steps])
