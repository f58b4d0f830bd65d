"""Measurements, as ratios inside one run: the machine is shared, so seconds alone mean little."""
