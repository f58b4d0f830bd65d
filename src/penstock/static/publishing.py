"""Publishing a set of points, in memory."""

from __future__ import annotations

from penstock.curator import Curator
from penstock.errors import BadInput
from penstock.models import PrivacyModel
from penstock.noise import Noise
from penstock.points import Points
from penstock.population import Population
from penstock.static.base import Publication
from penstock.types import Release


def publish(
    points: Points,
    publication: Publication,
    model: PrivacyModel,
    *,
    noise: Noise | None = None,
    population: Population | None = None,
) -> Release:
    """Publish one thing about points, for all of epsilon. Several about the same people share a ``population``."""
    if not isinstance(points, Points):
        raise BadInput('points are told as static.Points(values, "0..100/0.5", size_is_public=True).')
    law = publication.require_proven(model)
    if law.grid not in (None, points.grid):
        raise BadInput(f"the points lie on {points.grid}, and the model is about {law.grid}; they must agree.")
    law = law.on(points.grid)
    publication.names(points.grid, points.bins)  # what does not fit is refused before anything is set aside
    return publication.released(Curator(law, points.bins, noise=noise, population=population), points.anew())
