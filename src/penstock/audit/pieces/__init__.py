"""Pieces that mechanisms are built of, each alone in a mechanism that publishes its answer and nothing else."""
