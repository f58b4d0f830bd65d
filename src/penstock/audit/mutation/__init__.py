"""Mutation testing of the kernel and the store: small changes to the code that some test has to notice."""
