"""Hazards of disks and machines: system calls that fail, power cuts, flipped bits, and two writers at once."""
