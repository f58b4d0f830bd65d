"""The base of everything that must stay single: it can be neither copied nor pickled."""

from __future__ import annotations

from typing import NoReturn

from penstock.errors import Sealed


class Uncopied:
    """An object of which a second one would hold the same secret, or spend the same budget again."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """``copy.copy``, ``copy.deepcopy`` and ``pickle`` all come by here."""
        raise Sealed(f"a {type(self).__name__} cannot be copied or pickled; use the one there is, or make a new one.")
