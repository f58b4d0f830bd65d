"""``penstock publish``: one thing about a file of points, once, through a durable store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from penstock.cli import once, once_picture, options
from penstock.cli.console import as_json, count_lines, messages, progress
from penstock.cli.gridding import ends_of, gridded
from penstock.cli.intake import Registration
from penstock.cli.once import Told
from penstock.cli.opening import name_of, require_people, warn_of
from penstock.cli.settings import require_different_files
from penstock.cli.stopping import undisturbed
from penstock.drawing import require_drawable
from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.histograms.catalogue import HISTOGRAMS
from penstock.parameters import nearest
from penstock.points import require_public
from penstock.spatial import WHOLE_DOMAIN
from penstock.static import (
    CumulativeHistogram,
    Keeper,
    Median,
    PlainHistogram,
    Points,
    Publication,
    SortedPoints,
    SpatialNeighbourhood,
    read_points,
)
from penstock.static.declared import require_keepable
from penstock.static.reading import Read
from penstock.store import Store
from penstock.streams.lines import STANDARD

POINTS = "Which points"
KINDS = ("points", "histogram", "median")
CUMULATIVE, IN_A_PLANE = "cumulative", "laplace"
METHODS = (CUMULATIVE, *HISTOGRAMS)

What = Annotated[
    str, typer.Argument(metavar="WHAT", help="points, histogram or median.", autocompletion=lambda: [*KINDS])
]
File = Annotated[str, typer.Argument(metavar="FILE", help='The points: CSV, JSON lines, Parquet, or "-".')]
Columns = Annotated[
    list[str], typer.Option("--column", help="The column of the points; in a plane told twice.", rich_help_panel=POINTS)
]
DomainText = Annotated[
    str,
    typer.Option(
        "--domain",
        help="From where to where points can lie: 0..100, in a plane 0..10,0..20. Public. One that lies outside counts"
        " as lying in the nearest cell.",
        rich_help_panel=POINTS,
    ),
]
StepText = Annotated[
    str | None,
    typer.Option("--step", help="The width of the cells points are snapped to, or of bins.", rich_help_panel=POINTS),
]
SizeIsPublic = Annotated[
    bool, typer.Option("--size-is-public", help="How many points there are may be known.", rich_help_panel=POINTS)
]
Radius = Annotated[
    str,
    typer.Option(help='How far a point may move unseen; "domain": anywhere.', rich_help_panel=options.LAW),
]
EpsilonText = Annotated[
    str, typer.Option(help="How much may be learnt about where one lies.", rich_help_panel=options.LAW)
]
Group = Annotated[
    int | None,
    typer.Option(help="Publish means of so many consecutive points.", rich_help_panel=options.MECHANISM),
]
Method = Annotated[
    str | None,
    typer.Option(
        help=f"Of a histogram: {', '.join(METHODS)}; in a plane not the first.",
        rich_help_panel=options.MECHANISM,
    ),
]
StorePath = Annotated[str, typer.Option("--store", help="Keeps it; made if new.", rich_help_panel=options.FILES)]
Output = Annotated[str, typer.Option("--output", "-o", help='A CSV file, or "-".', rich_help_panel=options.FILES)]


def _warn_of_radius(publication: Publication, law: SpatialNeighbourhood) -> None:
    """Say so if a promise is weaker than it could be for the same noise."""
    if not publication.heeds_radius and law.radius != WHOLE_DOMAIN:
        messages.print(
            f"[bold]warning:[/] the noise of this histogram is the same for every radius, so --radius {law.radius} only"
            f" makes the promise weaker; take --radius {WHOLE_DOMAIN}, unless a population has this radius."
        )


def publish(
    what: What,
    file: File,
    domain: DomainText,
    radius: Radius,
    epsilon: EpsilonText,
    store: StorePath,
    column: Columns = [],  # noqa: B006
    step: StepText = None,
    size_is_public: SizeIsPublic = False,
    group: Group = None,
    method: Method = None,
    population: options.People = None,
    population_epsilon: options.PeopleEpsilon = None,
    output: Output = STANDARD,
    stream: options.StreamName = None,
    key: options.KeyPath = None,
    head: options.HeadPath = None,
    input_format: options.InputFormat = None,
    to: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Publish points in order, a histogram or a median of a file, once, through a durable store.

    Hidden is where a point lies, up to the radius; how many there are is public. Run again, it tells the same again.
    """
    ends = ends_of(domain)
    publication = _publication(what, method, group, plane=len(ends) > 1)
    if what != "histogram" and len(ends) > 1:
        raise BadInput("points are in order along one axis only; of points in a plane publish a histogram.")
    law = SpatialNeighbourhood(epsilon=epsilon, radius=radius)
    warn_of(Epsilon(law.epsilon))
    law = law.on(gridded(ends, step, publication, law.radius))
    require_keepable(publication, law.snapped_to)  # or refused now, before anything is read
    people = (population, population_epsilon)
    place = Place(file, Registration(store, stream or "", name_of(stream or "", file), key, head, *people))
    place.require_usable(output, to, drawn=what != "median" and len(ends) <= 2)
    require_public(size_is_public)
    with progress("Reading, point", count_lines(file)) as show:
        read = read_points(file, column, axes=len(ends), form=input_format, show=show)
    points = Points(read.values, law.snapped_to, size_is_public=size_is_public)
    _warn_of_radius(publication, law)
    found, again = place.published(publication, law, read, points, output)
    if json:
        as_json({"new": not again} | found.as_dict(whole=output == STANDARD))
    if output != STANDARD or not json:
        once.write(found, output)
    if to:
        once_picture.draw(found, to)
    before = " was published before, and this is the same again;" if again else ","
    messages.print(escape(f'done: "{place.registration.name}"{before} {found}.'))


def _publication(what: str, method: str | None, group: int | None, *, plane: bool) -> Publication:
    """What is to be published."""
    if what not in KINDS:
        raise BadInput(f"what is published is one of {', '.join(KINDS)}; got {what!r}.{nearest(what, KINDS)}")
    if group is not None and what != "points":
        raise BadInput("--group is for points; leave it out.")
    if method is not None and what != "histogram":
        raise BadInput("--method is for histograms; leave it out.")
    if what != "histogram":
        return Median() if what == "median" else SortedPoints(group=1 if group is None else group)
    chosen = method or (IN_A_PLANE if plane else CUMULATIVE)
    if chosen.partition("(")[0].strip().lower() not in METHODS:
        raise BadInput(f"a histogram is made by one of {', '.join(METHODS)}; got {chosen!r}.{nearest(chosen, METHODS)}")
    return CumulativeHistogram() if chosen.lower() == CUMULATIVE else PlainHistogram(histogram=chosen)


@dataclass(frozen=True)
class Place:
    """Where points come from, and where what is published of them is kept."""

    file: str
    registration: Registration

    def require_usable(self, output: str, picture: Path | None, *, drawn: bool) -> None:
        """Refuse what cannot work, before anything is read; not everything can be ``drawn``."""
        registration = self.registration
        require_people(registration.population, registration.population_epsilon)
        beside = {"--picture": picture, "--key": registration.key, "--head": registration.head}
        named = {"the input": self.file, "--store": registration.store, "--output": output}
        require_different_files(named | {name: str(path) for name, path in beside.items() if path})
        if picture and not drawn:
            raise BadInput("there are pictures of points, and of histograms in a line or a plane; leave out --picture.")
        if picture:
            require_drawable(picture)

    def published(
        self, publication: Publication, law: SpatialNeighbourhood, read: Read, points: Points, output: str
    ) -> tuple[Told, bool]:
        """The publication, stored; and whether it was before."""
        registration = self.registration
        if not registration.has_begun(law):
            once.require_place(output, None)
        with (
            Store(registration.store, key=registration.key, head=registration.head) as store,
            Keeper(
                publication,
                law,
                points.bins,
                store,
                registration.name,
                columns=read.columns,
                population=registration.population,
                population_epsilon=registration.population_epsilon,
            ) as keeper,
        ):
            declared, known = store.streams()[registration.name], keeper.release
            once.require_place(output, Told(declared, known) if known else None)
            with undisturbed():
                return Told(declared, keeper.publish(points)), known is not None
