"""A volley that goes on after its noise was lost, and tells the counts themselves."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.audit.volleying import Volleying
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.primitives.volley import Volley


class StubbornVolley(Volley):
    """Without the sealed part of its state it has no noise."""

    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        size = public["plan"][0] if public["plan"] else 0
        super()._load(public, {"noise": np.zeros(size, np.int64)} if sealed is None else sealed)


class StubbornCurator(Curator):
    """Hands out such volleys."""

    def volley(self) -> Volley:
        return self._issue(StubbornVolley(self._desk, len(self._handles)))


@dataclass(kw_only=True)
class UnsealedVolley(Volleying):
    """Found by pricing readings after restarts without the key."""

    caught_by: ClassVar = "resumes_soundly"
    saying: ClassVar = "without the key the fullest set"
    kernel: ClassVar = Kernel(curator=StubbornCurator)
