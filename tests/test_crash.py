"""Processes killed at every point where it hurts, and anywhere else. ``make crash`` does it more often."""

import subprocess
import sys


def test_nothing_is_lost_in_a_storm_of_crashes() -> None:
    """In a process of its own, because the storm forks."""
    command = [sys.executable, "-W", "error", "-m", "penstock.audit.crash", "--kills", "30"]
    storm = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert storm.returncode == 0, storm.stdout + storm.stderr
    assert "every store verifies" in " ".join(storm.stdout.split())
