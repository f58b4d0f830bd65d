"""What must survive: releases, charges, paid answers and states, in one transaction each."""

from penstock.store.account import Account, Intent, Pending, Saved, SavedState
from penstock.store.archive import Archive
from penstock.store.record import Entry
from penstock.store.store import Store

__all__ = ["Account", "Archive", "Entry", "Intent", "Pending", "Saved", "SavedState", "Store"]
