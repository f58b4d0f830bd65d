"""Planted failures. Nothing but tests and audits may use them: they do not protect anybody."""
