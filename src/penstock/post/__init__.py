"""What can be done to releases after they are made: public in, public out, at no cost."""

from penstock.post.chain import Chain
from penstock.post.constraints import NonNegative, Rounded, Total
from penstock.post.levels import Levels
from penstock.post.sliding import SlidingSum
from penstock.post.smoothed import Smoothed
from penstock.post.step import Step

__all__ = ["Chain", "Levels", "NonNegative", "Rounded", "SlidingSum", "Smoothed", "Step", "Total"]
