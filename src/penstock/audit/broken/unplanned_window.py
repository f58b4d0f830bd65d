"""Plans budgets so that every window keeps its limit, but for the first one, which was left out."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.allocation import plan
from penstock.audit.permissive import Unbound
from penstock.types import Release, Snapshot


@dataclass(kw_only=True)
class UnplannedWindow(Unbound):
    """Found by recounting the charges."""

    caught_by: ClassVar = "never_overspends"
    saying: ClassVar = "but paid 1.8"
    mutant: ClassVar = "M24"

    def decide(self, snapshot: Snapshot) -> Release:
        """All units weigh the same. The first one lies in the first window only, so that nothing keeps it small."""
        epsilon, window = self.model.epsilon, self.model.window
        planned = plan([1] * window, window, epsilon).budgets
        return self.publish(snapshot, planned[snapshot.t % window] if snapshot.t > 1 else epsilon)
