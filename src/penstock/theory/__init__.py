"""What error to expect, from public numbers alone: the papers' theorems, for the mechanisms as they are shipped."""
