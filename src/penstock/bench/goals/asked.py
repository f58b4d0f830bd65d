"""What is asked of ``auto``, and whether it is met."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from penstock.bench.boards import BOARDS, SPARSE
from penstock.bench.goals.found import Found, beside
from penstock.bench.goals.plan import AUTO
from penstock.bench.metrics import Outcome
from penstock.bench.report.shown import whole
from penstock.bench.report.wording import NOTHING, ratio, several, share
from penstock.bench.summary import NEAR, Cell, Estimate, geometric

EMPTY = 1 / 3  # of a stream's counts, from which on it is sparse
MOSTLY_EMPTY = ("sparse", *SPARSE)  # many bins, of which most are empty at any time
FEW = "with the leaderboard's seeds alone"  # where more are judged, so that luck has less of it

Ratios = Mapping[Cell, Estimate]


class Goal(NamedTuple):
    """What is asked where, what was measured, what is worth knowing besides, and whether it is met; None: not run."""

    where: str
    what: str
    asked: str
    measured: str
    met: bool | None
    beside: str = ""


def goals(found: Found) -> list[Goal]:
    """All of them."""
    parts = (_beside_spas, _beside_the_best, _oracle, _short, _event, _user, _coverage)
    return [goal for part in parts for goal in part(found)]


def _beside_spas(found: Found) -> Iterator[Goal]:
    where = "long, beside SPAS"
    relative, absolute = found.on("long", "mre"), found.on("long", "mae")
    made_for, usual = relative.over("spas"), relative.over("spas", AUTO)
    cells = several(len(made_for), "cell")
    default = f"as it is by default, of {several(len(usual), 'cell')}: {ratio(_mean(usual))}"
    yield _at_most(where, f"MRE of {cells}", _mean(made_for), 0.36, default)
    yield _at_most(where, "MAE", _mean(absolute.over("spas")), 0.50)
    for measure, ratios in {"MRE": made_for, "MAE": absolute.over("spas")}.items():
        above = [cell for cell, each in ratios.items() if each.low > 1]
        number = float(len(above)) if ratios else math.nan
        at = "; ".join(map(_at, above))
        cells = several(len(ratios), "cell")
        yield _at_most(where, f"{measure}: of {cells} those whose whole interval is above 1", number, 0, at, digits=0)


def _beside_the_best(found: Found) -> Iterator[Goal]:
    where, few = "long, beside the best other of each cell", found.with_seeds("long", BOARDS["long"].seeds)
    ratios, of_few = (each.on("long", "mae").over_best() for each in (found, few))
    yield _at_most(where, "MAE", _mean(ratios), 0.78)
    yield _near(where, ratios, 0.95, of_few)
    yield _worst_cell(where, "MAE", ratios, 1.4, of_few)
    for how, own in {"as it is by default": AUTO, "made for it": ""}.items():
        squared, of_few = (each.on("long", "rmse").over_best(own) for each in (found, few))
        what = f"RMSE of {several(len(squared), 'cell')}, {how}"
        yield _at_most(where, what, _mean(squared), 0.85)
        yield _worst_cell(where, what, squared, 1.7, of_few)


def _worst_cell(where: str, what: str, ratios: Ratios, limit: float, of_few: Ratios) -> Goal:
    """The worst cell, and which it would be with fewer seeds."""
    (worst, _, at), (of_luck, _, there) = _worst(ratios), _worst(of_few)
    beside = "" if of_luck == worst else f"; {FEW}: {ratio(of_luck)}, {there}"
    return _at_most(where, f"{what}, worst cell", worst, limit, at + beside if ratios else "")


def _oracle(found: Found) -> Iterator[Goal]:
    ratios = beside(found.boards["long"], found.oracle, "mae", attrgetter("name")).over_best()
    worst, _, at = _worst(ratios)
    where = "long, epsilon 1, beside the best fixed pace in hindsight, same filter (six streams, one seed)"
    yield _at_most(where, "MAE", _mean(ratios), 1.10, f"worst: {ratio(worst)}, {at}")


def _short(found: Found) -> Iterator[Goal]:
    where, few = "short, beside the best other of each cell", found.with_seeds("short", BOARDS["short"].seeds)
    rivalry = found.on("short", "mae")
    ratios, of_few = rivalry.over_best(), few.on("short", "mae").over_best()
    yield _at_most(where, "MAE", _mean(ratios), 0.90)
    yield _near(where, ratios, 0.80, of_few)
    emptiest = {cell: each for cell, each in rivalry.over("sample").items() if whole(cell.stream) in MOSTLY_EMPTY}
    names = ", ".join(dict.fromkeys(whole(cell.stream) for cell in emptiest))
    yield _at_most("short, beside Sample", f"MAE, worst cell of {names or 'sparse streams'}", *_worst(emptiest, 1.0))
    early = beside(found.early, {what: found.early[what] for what in found.early if what.mechanism != AUTO}, "mae")
    means, paired = early.over_mean("sample"), _worst(early.over("sample"))
    beside_it = (
        f"ratio of mean errors; the mean of ratios, in which seeds that favour Sample weigh most: {ratio(paired[0])}"
    )
    worst = max(means.values(), default=math.nan)
    yield _at_most("a constant stream over two windows, beside Sample", "MAE, worst epsilon", worst, 3.0, beside_it)


def _event(found: Found) -> Iterator[Goal]:
    where, ratios = "event, beside Baseline clipped at 0", found.on("event", "sse").over("baseline")
    yield _at_most(where, "SSE, worst cell", *_worst(ratios, 1.15))
    sparse = {cell: each for cell, each in ratios.items() if found.empty.get(cell.stream, 0) > EMPTY}
    shares = {whole(cell.stream): share(found.empty[cell.stream]) for cell in sparse}
    names = ", ".join(f"{name} ({part} of counts are 0)" for name, part in shares.items())
    worst, limit, at = _worst(sparse, 0.5)
    yield _at_most(where, "SSE, worst cell of sparse streams", worst, limit, f"{at}; these are {names or 'none'}")


def _user(found: Found) -> Iterator[Goal]:
    yield _at_most("user, beside DSAT", "MAE", _mean(found.on("user", "mae").over("dsat")), 0.42)
    ratios = beside(found.boards["user"], found.fixed, "mae", attrgetter("name")).over_best()
    worst, _, at = _worst(ratios)
    where = "user, beside the best fixed interval in hindsight"
    yield _at_most(where, "MAE", _mean(ratios), 1.45, f"worst: {ratio(worst)}, {at}")


def _coverage(found: Found) -> Iterator[Goal]:
    where = "95 % intervals"
    by_stream = covered(found)
    means = {stream: _plain_mean(by_epsilon.values()) for stream, by_epsilon in by_stream.items()}
    mean, least = _plain_mean(means.values()), min(means, key=lambda each: means[each], default="")
    met = None if math.isnan(mean) else 0.92 <= mean <= 0.98
    yield Goal(where, "counts inside, mean of all streams", "92 to 98 %", _share(mean), met)
    lowest = means[least] if least else math.nan
    met = None if math.isnan(lowest) else lowest >= 0.85
    yield Goal(where, "counts inside, worst stream", "at least 85 %", _share(lowest), met, least)


def covered(found: Found) -> dict[str, dict[str, float]]:
    """The part of counts inside of their intervals, of every stream by epsilon; where there are none, nothing."""
    by_stream: dict[str, dict[str, float]] = {}
    for what, runs in found.coverage.items():
        inside = 1 - _plain_mean(_outside(run) for run in runs.values())
        if not math.isnan(inside):
            by_stream.setdefault(what.stream, {})[what.promise.epsilon] = inside
    return by_stream


def _outside(run: Outcome) -> float:
    return run.mae  # of intervals; see Covered


def _at_most(where: str, what: str, figure: float, limit: float, beside: str = "", *, digits: int = 2) -> Goal:
    known = not math.isnan(figure)
    measured = f"{figure:.{digits}f}" if known else NOTHING
    return Goal(where, what, f"at most {limit:.{digits}f}", measured, figure <= limit if known else None, beside)


def _near(where: str, ratios: Ratios, part: float, of_few: Ratios) -> Goal:
    """How many cells are as good as the best, and how many with fewer seeds: of few, the luckiest other is the best."""
    near, of_luck = (_plain_mean(float(r.value <= NEAR) for r in each.values()) for each in (ratios, of_few))
    met = None if math.isnan(near) else near >= part
    what = f"MAE: part of {several(len(ratios), 'cell')} within 5 %"
    beside = "" if met is None or of_luck == near else f"{FEW}: {_share(of_luck)}"
    return Goal(where, what, f"at least {share(part)}", _share(near), met, beside)


def _worst(ratios: Ratios, limit: float = math.inf) -> tuple[float, float, str]:
    """The largest ratio, what it may be, and where it is."""
    if not ratios:
        return math.nan, limit, ""
    cell = max(ratios, key=lambda each: ratios[each].value)
    return ratios[cell].value, limit, _at(cell)


def _mean(ratios: Ratios) -> float:
    return geometric(each.value for each in ratios.values()) if ratios else math.nan


def _plain_mean(figures: Iterable[float]) -> float:
    found = list(figures)
    return sum(found) / len(found) if found else math.nan


def _share(part: float) -> str:
    return NOTHING if math.isnan(part) else f"{part:.1%}".replace("%", " %")


def _at(cell: Cell) -> str:
    return f"{cell.stream}, {cell.promise}"
