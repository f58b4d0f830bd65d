"""Documents nothing."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted


@dataclass(kw_only=True)
class Undocumented(Planted):
    """Found because its docstring has no example that could be followed."""

    caught_by: ClassVar = "example_runs"
    saying: ClassVar = "has no example"
