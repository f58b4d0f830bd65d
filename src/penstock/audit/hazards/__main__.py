"""Hazards of disks and machines, one after another: nothing that was shown may be lost, and no budget spent twice.

    python -m penstock.audit.hazards --minutes 6

Some need a library that is preloaded, which is built with gcc; without gcc the others are tried.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console

from penstock.audit.hazards import cuts, faults, flips, rivals, shim
from penstock.audit.hazards.trial import MECHANISMS, Trial
from penstock.audit.recounted import MEMORY
from penstock.errors import BadInput, CheckFailed, PenstockError

HAZARDS = {
    "calls": ("system calls that fail", faults.attempts),
    "cuts": ("power cuts", cuts.attempts),
    "flips": ("flipped bits", flips.attempts),
    "rivals": ("two writers at once", rivals.attempts),
}

# What only the preloaded shim can bring about.
NEED_SHIM = ("calls", "cuts")


def try_hazard(name: str, seconds: float, seed: int) -> int:
    """Try one hazard for some time. Returns in how many ways; raises CheckFailed if one of them did harm."""
    rng, until, tried = np.random.default_rng(seed), time.monotonic() + seconds, 0
    title, attempts = HAZARDS[name]
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
        folder = Path(place)
        _import_all(folder)
        for what, attempt in attempts(folder, rng):
            try:
                attempt()
            except PenstockError as fault:
                raise CheckFailed(f"{title}, number {tried + 1} ({what}): {fault}") from fault
            tried += 1
            if time.monotonic() > until:
                break
    return tried


def _import_all(folder: Path) -> None:
    """Publish once in this process, so that those that are forked from it have nothing left to import."""
    for mechanism in MECHANISMS:
        place = folder / f"{mechanism}-first"
        place.mkdir()
        Trial(place, mechanism).publish(1, tell=lambda line: None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try hazards; 1 if one of them did harm."""
    parser = argparse.ArgumentParser(prog="python -m penstock.audit.hazards", description="Try hazards of disks.")
    parser.add_argument("names", nargs="*", help=f"only these of {', '.join(HAZARDS)}")
    parser.add_argument("--minutes", type=float, default=6, help="how long all of them may take together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which bits, calls and moments")
    told = parser.parse_args(arguments)
    names = told.names or list(HAZARDS)
    unknown = [name for name in names if name not in HAZARDS]
    if unknown:
        parser.error(f"there is no hazard {unknown[0]!r}; choose from {', '.join(HAZARDS)}")
    run = _report if shim.is_preloaded() else _run_preloaded
    return run(names, told.minutes, told.seed)


def _run_preloaded(names: Sequence[str], minutes: float, seed: int) -> int:
    """Do it all in a process whose system calls can be made to fail; without a compiler, what can be done without."""
    further = ["--minutes", str(minutes), "--seed", str(seed)]
    with TemporaryDirectory() as folder:
        try:
            library = shim.build(Path(folder))
        except BadInput as fault:
            Console().print(f"without {' and '.join(HAZARDS[name][0] for name in NEED_SHIM)}: {fault}")
            left = [name for name in names if name not in NEED_SHIM]
            return _report(left, minutes, seed) if left else 1
        return shim.run_preloaded(library, ["penstock.audit.hazards", *names, *further])


def _report(names: Sequence[str], minutes: float, seed: int) -> int:
    console = Console()
    try:
        for name in names:
            tried = try_hazard(name, 60 * minutes / len(names), seed)
            console.print(f"{HAZARDS[name][0]}: {tried} tried")
    except CheckFailed as fault:
        console.print(f"[bold red]seed {seed}[/]: {fault}")
        return 1
    console.print(
        f"seed {seed}: nothing that was shown was lost or changed, no unit was drawn twice, no window overspent."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
