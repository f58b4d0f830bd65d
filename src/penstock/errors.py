"""Everything Penstock raises, as one tree.

    PenstockError
    ├── BadInput             a parameter or an argument cannot be used (also a ValueError)
    │   ├── BadCounts        a histogram that breaks the public rule for counts
    │   ├── OutOfOrder       a snapshot whose time does not follow the one before
    │   ├── BadPresence      a set of present users that is missing, repeated or too large
    │   └── BadRow           a row of an input that cannot be read; names its line and column, never its value
    ├── NotProven            a mechanism under a privacy model its proof does not cover
    ├── BudgetExceeded       the ledger refused a charge; nothing was drawn, nothing was spent
    │   └── HorizonReached   a user-level stream has come to the end of its horizon
    ├── BadState             a saved state that does not belong here, or cannot be opened
    ├── StoreError           the durable store cannot be used as it is
    │   ├── StoreInUse       another process writes to the stream, or holds the store
    │   ├── StoreDamaged     bytes have changed, or are missing
    │   ├── StoreRolledBack  the store is older than what was published from it
    │   ├── OtherStream      the stream was begun with other parameters
    │   └── KeyMissing       the key file of the sealed state is missing, or is another one
    ├── Sealed               something secret was about to be copied out (also a TypeError)
    └── CheckFailed          a check of ``penstock.checks`` found a fault (also an AssertionError)

A message is one sentence that says what is wrong and what to do. It may name parameters, shapes and times;
it never contains a count, because error texts are public.
"""


class PenstockError(Exception):
    """Root of the tree: catch this to catch everything Penstock raises on purpose."""


class BadInput(PenstockError, ValueError):
    """A parameter or an argument cannot be used."""


class BadCounts(BadInput):
    """A histogram breaks the public rule for counts: whole numbers from 0 to 2**53, one a bin."""


class OutOfOrder(BadInput):
    """A snapshot's time does not follow the one before it."""


class BadPresence(BadInput):
    """The users present at a time unit are not stated as the m-context model needs them."""


class BadRow(BadInput):
    """A row of an input cannot be used."""


class NotProven(PenstockError):
    """The mechanism has no proof for this privacy model."""


class BudgetExceeded(PenstockError):
    """The ledger refused a charge before anything was drawn."""


class HorizonReached(BudgetExceeded):
    """The stream has used up the time units it was declared for."""


class BadState(PenstockError):
    """A saved state does not belong to this mechanism, or cannot be read."""


class StoreError(PenstockError):
    """The durable store cannot be used as it is."""


class StoreInUse(StoreError):
    """Somebody else writes to the stream, or holds the store."""


class StoreDamaged(StoreError):
    """What is stored is not what was written."""


class StoreRolledBack(StoreError):
    """The store is older than what was published from it: going on would spend a budget twice."""


class OtherStream(StoreError):
    """The stream was begun with other parameters than it is opened with."""


class KeyMissing(StoreError):
    """The sealed state cannot be opened, because its key is missing."""


class Sealed(PenstockError, TypeError):
    """A secret (counts, generator state) was about to be pickled."""


class CheckFailed(PenstockError, AssertionError):
    """A check found that a mechanism, or the kernel under it, does not keep a promise."""
