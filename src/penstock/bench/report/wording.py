"""Numbers and sentences of a report, the same wherever they stand."""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.bench.cache import Origins
from penstock.bench.report.shown import DAGGER, Measured, length, whole
from penstock.bench.summary import FLOOR, NEAR

NOTHING = "–"  # was not run, or makes no sense
SHORT = {
    "mae": "absolute error",
    "mre": "relative error",
    "rmse": "root of the squared error",
    "sse": "squared error",
    "range_error": "error of ranges of bins",
    "range_relative": "relative error of ranges of bins",
    "requests": "error of ranges of values",
}
TITLE = "Leaderboard of mechanisms"
INTRODUCTION = (
    "Every mechanism on every stream, under the same promises. A cell is a stream under a promise. In each cell errors"
    " are divided by that of the best mechanism there: for every seed by that which is best on the other seeds, so that"
    " its lead is no luck; where there is one seed, on that. A ratio of 1 is as good as the best, one below 1 is better"
    f" than what was best on the other seeds. Means of ratios are geometric; in them an error below {FLOOR:g} of the"
    " middle one of its cell counts as that."
)
MEANING = (
    f"Within 5 %: the part of cells in which the ratio is at most {NEAR}. First: the part in which the mean error over"
    " all seeds is the least. Releases: units with something new in them, in a window. Used: what a window spends in"
    " the mean, over epsilon. Who was not run in all cells comes last. One that can be made for a measure is there once"
    " more for each of them."
)
STAND_INS = (
    f"{DAGGER} Stand-in: a made-up stream of the same size and character, because the file was not at hand. Its figures"
    " say nothing about the original."
)
BEGINNINGS = "A name with a number in brackets, such as [:180], means the first so many units of a stream."
ALIKE = "writes this; the same streams and seeds give the same bytes."
SIMULATED = "The noise is simulated, by numpy from seeds, and protects nobody. All streams are public or made up."


def ratio(figure: float | None) -> str:
    """A ratio in three digits or so."""
    if figure is None or math.isnan(figure):
        return NOTHING
    if figure >= 99_999.5:
        return f"{figure:.0e}".replace("e+", "e").replace("e0", "e")
    return f"{figure:.{2 if figure < 9.995 else 1 if figure < 99.95 else 0}f}"


def error(figure: float) -> str:
    """An error in three digits or so, however small."""
    return ratio(figure) if figure >= 1 else f"{figure:.3g}"


def share(part: float) -> str:
    """A part of all cells."""
    return f"{part:.0%}".replace("%", " %")


def several(number: int, what: str) -> str:
    """A number of things, in plain words."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def facts(board: Measured) -> str:
    """What was compared, and whether every promise was kept."""
    ratios = board.leading
    promises = len({cell.promise for cell in ratios.cells})
    seeds = board.seeds
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    kept = "no promise was broken" if board.fullest <= 1 else "A PROMISE WAS BROKEN"
    return (
        f"{several(board.mechanisms, 'mechanism')}, {_streams(board)}, {several(promises, 'promise')}, {which}."
        f" The fullest window of all runs spent {board.fullest:.3g} of its epsilon: {kept}."
    )


def adopted(origins: Origins) -> Iterator[str]:
    """How many runs were not made with this code, and what was compared for that; nothing if all were."""
    used, taken, same, otherwise = origins
    differing = (
        f"{same} came out the same to the last digit, and what stands beside the other {otherwise} was run anew"
        if otherwise
        else "all came out the same to the last digit"
    )
    if taken:
        yield (
            f"Of {several(used, 'run')} {taken} were made by older code and adopted, after {same + otherwise} others,"
            " drawn from every mechanism under every law, and from every stream of one that has changed, had been run"
            f" again: {differing}."
        )


def _streams(board: Measured) -> str:
    """How many streams; beginnings of one are one, of several lengths."""
    streams, lengths = ({part(stream) for stream in board.streams} for part in (whole, length))
    made_up = {whole(stream) for stream in board.streams if board.mark(stream)}
    stand_ins = f" ({len(made_up)} of them stand-ins{DAGGER})" if made_up else ""
    varied = f", {len(lengths)} lengths" if len(lengths) > 1 else ""
    return f"{several(len(streams), 'stream')}{stand_ins}{varied}"


def alone(board: Measured) -> str:
    """Why there are no ratios, and what else is known of the only mechanism."""
    only = board.leading.standings[0]
    name = only.mechanism + board.told(only.mechanism)
    return (
        f"Only {name} was run, and there is nothing to compare it with: these are errors, not ratios. In the mean a"
        f" window has {only.publications:.1f} releases and spends {only.used:.2f} of its epsilon."
    )


def title(board: Measured, measure: str) -> str:
    """What a table or a figure is of."""
    return f"{board.board.title}: {SHORT[measure]}"
