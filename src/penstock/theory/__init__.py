"""What error to expect, from public numbers alone: the papers' theorems, for the mechanisms as they are shipped."""

from penstock.theory import dsft, ranges, rg, spas, sums

__all__ = ["dsft", "ranges", "rg", "spas", "sums"]
