"""What is asked of ``auto``, and what it comes to: goals, parts left out, cost, and where others are better."""

from penstock.bench.goals.asked import Goal, goals
from penstock.bench.goals.document import document
from penstock.bench.goals.found import Found
from penstock.bench.goals.plan import Plan

__all__ = ["Found", "Goal", "Plan", "document", "goals"]
