"""Processes killed at every point where it hurts, and anywhere else. ``make crash`` does it more often."""

import subprocess
import sys
from pathlib import Path

FORGETFUL = """
import sys
from pathlib import Path
from penstock.audit import crash
from penstock.ledger import Ledger

Ledger.lose = lambda ledger, most: None
crash.storm(Path(sys.argv[1]), kills=0, seed=1)
"""


def test_nothing_is_lost_in_a_storm_of_crashes() -> None:
    """In a process of its own, because the storm forks."""
    command = [sys.executable, "-W", "error", "-m", "penstock.audit.crash", "--kills", "30"]
    storm = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert storm.returncode == 0, storm.stdout + storm.stderr
    assert "every store verifies" in " ".join(storm.stdout.split())
    assert "auto (one bin)" in storm.stdout


def test_a_storm_finds_lost_units_that_cost_nothing(tmp_path: Path) -> None:
    """It does not go by what the ledger says of itself."""
    command = [sys.executable, "-W", "error", "-c", FORGETFUL, str(tmp_path)]
    storm = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert storm.returncode != 0
    assert "has not booked what its step at t=" in storm.stderr
