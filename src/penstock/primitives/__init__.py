"""Reusable pieces that mechanisms are made of; their state is plain data."""
