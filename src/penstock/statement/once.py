"""What is said otherwise about a one-time publication: it is about points, and there is no time in it."""

from __future__ import annotations

from penstock.spatial import WHOLE_DOMAIN, SpatialNeighbourhood

NOT_CHECKED = (
    "Declared by the publisher, who also decides who is one person. The software is given points, not people, so it"
    " cannot check this."
)
LATE = "What is published is never drawn again. A point that comes late is not in it."
DRAWN = "drawn from AES-256 under keys from the operating system"
SECRET_WIDTH = f"Cauchy, on the grid, exact; how wide it is follows from the points, and is secret; {DRAWN}"
NOISES = {"Median": SECRET_WIDTH}
OUTSIDE = "A point that lies outside of the domain counts as lying in the nearest cell."
IN_ORDER = "Noise was added first, and then the numbers were put in order; so some that are equal were not."
ANY_RANGE = (
    "A count is the difference of two noisy numbers of points, those before either end of its bin: a range of bins has"
    " no more noise than one of them."
)
READINGS = {
    "SortedPoints": ("A value is the middle of a cell: about where the point of that rank lies.", IN_ORDER),
    "CumulativeHistogram": (ANY_RANGE, IN_ORDER),
    "PlainHistogram": ("A count below 0 is the noise, not a mistake.",),
    "Median": ("The value is the middle of a cell. How far it may be off is not published, and can be far.",),
}
FURTHER = (
    "A point that moves further than that: for up to 2 times as far the bound is 2 times epsilon, for up to 3 times it"
    " is 3 times, and so on."
)
TRUST = (
    "The publisher's computer, which has the points, is trusted.",
    "That nobody looked at the points to choose domain, step, radius or epsilon is trusted: no software can check it.",
)


def protects(model: SpatialNeighbourhood) -> str:
    """Whom the model protects, as one sentence.

    >>> protects(SpatialNeighbourhood(epsilon=1, radius=2))
    'Where the point of one person lies: moving it by up to 2, in the units of the data.'
    """
    how_far = "anywhere in the domain" if model.radius == WHOLE_DOMAIN else f"by up to {model.radius}"
    units = "" if model.radius == WHOLE_DOMAIN else ", in the units of the data"
    return f"Where the point of one person lies: moving it {how_far}{units}."


def beyond(model: SpatialNeighbourhood) -> tuple[str, ...]:
    """What the neighbourhood leaves out."""
    return (
        *(() if model.radius == WHOLE_DOMAIN else (FURTHER,)),
        "That a person has a point at all, and how many points there are: it is public.",
        "People with more points than 1: for k of them the bound is k times epsilon.",
    )


def public(size: int) -> tuple[str, ...]:
    """What is taken to be public."""
    return (
        f"How many points there are: {size}.",
        "The grid they are snapped to, the radius, epsilon, and every parameter; when it was published, and its cost.",
    )


def reading(publication: str) -> tuple[str, ...]:
    """How to read the numbers."""
    return (*READINGS.get(publication, ()), OUTSIDE)
