"""How much of a window's budget each time unit gets, if some matter more than others. All of it is public."""

from penstock.allocation.online import Allocator, PredictAndHedge, TopUp, UniformShares
from penstock.allocation.planning import Plan, plan
from penstock.allocation.program import Error

__all__ = ["Allocator", "Error", "Plan", "PredictAndHedge", "TopUp", "UniformShares", "plan"]
