"""People who appear in several streams share one budget, of which each stream sets its part aside."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.epsilon import Epsilon, EpsilonField
from penstock.errors import BadInput, BudgetExceeded
from penstock.models import PrivacyModel


@dataclass
class Population:
    """People who appear in several streams. Each stream that joins sets aside its whole epsilon, once and for all.

    Whatever each stream's own ledger allows, the sum over streams then stays within ``epsilon``, for every protected
    set that all of them protect.
    """

    name: str
    epsilon: EpsilonField = EpsilonField()
    members: list[PrivacyModel] = field(default_factory=list)

    def join(self, model: PrivacyModel) -> None:
        """Set aside ``model.epsilon``, or refuse."""
        if any(model.relation != other.relation for other in self.members):
            raise BadInput(
                f'the streams of population "{self.name}" must share one kind of model, with the same neighbours,'
                " per_unit and radius; use another population, whose budget adds to this one's."
            )
        taken = sum(other.epsilon.nano for other in self.members)
        if taken + model.epsilon.nano > self.epsilon.nano:
            left = Epsilon.of_nano(self.epsilon.nano - taken)
            raise BudgetExceeded(
                f'population "{self.name}" has {left} of {self.epsilon} left and this stream asks for {model.epsilon};'
                " lower its epsilon."
            )
        self.members.append(model)
