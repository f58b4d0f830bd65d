"""How one histogram is measured with a given budget: black boxes that any mechanism can publish with."""

from penstock.histograms.adaptive import Adaptive
from penstock.histograms.base import Histogram, Measured
from penstock.histograms.laplace import Laplace
from penstock.histograms.quadtree import Quadtree

__all__ = ["Adaptive", "Histogram", "Laplace", "Measured", "Quadtree"]
