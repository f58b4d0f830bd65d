"""How objects that the kernel goes by answer ``copy`` and ``pickle``."""

from __future__ import annotations

from typing import NoReturn, Self

from penstock.errors import Sealed


class Uncopied:
    """An object of which a second one would hold the same secret, or spend the same budget again."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """``copy.copy``, ``copy.deepcopy`` and ``pickle`` all come by here."""
        raise Sealed(f"a {type(self).__name__} cannot be copied or pickled; use the one there is, or make a new one.")


class Unchanging:
    """An object that never changes, and so is its own copy. None can be made past the checks of its constructor."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
