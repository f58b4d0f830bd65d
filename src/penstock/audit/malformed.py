"""Malformed inputs, one command after another: each has to end in one sentence, and in a folder that is as it was.

    python -m penstock.audit.malformed --cases 900

A command is run as a stranger would run it: in a process and a folder of its own, beside a stream that has published
three units. It must end with an exit code that says so, with one sentence and no traceback, without any count in what
it prints, and within seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock.audit.malforming import FAMILIES, MARK, Malformed, rows_of, run_on, table
from penstock.errors import CheckFailed

COUNT = re.compile(rf"{MARK}\.?\d{{5}}")
SENTENCE = re.compile(r"error: \S.*[.:]", re.DOTALL)
LONGEST = 60  # seconds of a command, on a machine that has much else to do
UNFORESEEN = "a fault of Penstock itself"


class Ended(NamedTuple):
    """How a command ended, and all that it printed."""

    code: int
    printed: str


def run(arguments: list[str], folder: Path) -> Ended:
    """Run a command in a process of its own, which is stopped when it takes too long."""
    out = folder.with_name(f"{folder.name}.printed")
    child = os.fork()
    if child == 0:
        _become(arguments, folder, out)
    _, status = os.waitpid(child, 0)
    return Ended(os.waitstatus_to_exitcode(status), out.read_text(encoding="utf-8", errors="replace"))


def _become(arguments: list[str], folder: Path, out: Path) -> None:
    """Be the command; nothing comes back from here."""
    code = 1
    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        printed = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        signal.alarm(LONGEST)
        sys.argv = ["penstock", *arguments]
        import_module("penstock.cli.main").run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        os._exit(code)


def begun(folder: Path) -> Path:
    """A folder with a stream that has published three units."""
    folder.mkdir()
    (folder / "in.csv").write_text(table(rows_of(np.random.default_rng(1))), encoding="utf-8")
    ended = run(run_on("in.csv"), folder)
    if ended.code:
        raise CheckFailed(f"the stream that malformed inputs are given to could not be begun: {ended.printed}")
    return folder


def put(case: Malformed, folder: Path) -> None:
    """Put the files of a case where the command looks for them."""
    for name, content in case.files.items():
        path = folder / name
        path.unlink(missing_ok=True)
        if content is None:
            path.mkdir()
        elif content == "":
            path.symlink_to(name)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))


def held(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def faults(ended: Ended, before: dict[str, bytes | None], after: dict[str, bytes | None]) -> list[str]:
    """What is wrong with how a command ended."""
    said = " ".join(ended.printed.split())
    usage = ended.code == 2 and said.startswith("Usage: ")  # of an option that is no number, by the parser
    found = {
        "it was taken for good": ended.code == 0,
        "it did not end by itself": ended.code < 0,
        "it ended in a traceback": "Traceback" in said or UNFORESEEN in said,
        "it did not end in one sentence": not usage and (said.count("error: ") != 1 or not SENTENCE.search(said)),
        "a count was printed": COUNT.search(said) is not None,
        "the folder is not as it was": before != after,
    }
    return [about for about, is_so in found.items() if is_so]


def suffer(case: Malformed, template: Path, folder: Path) -> list[str]:
    """Run the command of a case beside the stream; returns what was wrong, which is nothing."""
    shutil.copytree(template, folder, symlinks=True)
    try:
        put(case, folder)
        before = held(folder)
        ended = run(case.arguments, folder)
        wrong = faults(ended, before, held(folder))
        return [f"{case.about}: {about} (exit code {ended.code}): {ended.printed[-400:]!r}" for about in wrong]
    finally:
        shutil.rmtree(folder)


def ordeal(folder: Path, cases: int, seed: int) -> Table:
    """As many malformed inputs of all families in turn; raises CheckFailed if one of them does any harm."""
    rng, wrong, tried = np.random.default_rng(seed), list[str](), Counter[str]()
    template = begun(folder / "begun")
    shown = track(
        range(cases), "Malforming", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )
    for number in shown:
        make = FAMILIES[number % len(FAMILIES)]
        wrong += suffer(make(rng), template, folder / "tried")
        tried[(make.__doc__ or "").rstrip(".")] += 1
    if wrong:
        raise CheckFailed("\n".join([f"{len(wrong)} of {cases} malformed inputs did harm (seed {seed}):", *wrong]))
    found = Table(title=f"{cases} malformed inputs", title_justify="left")
    found.add_column("what was given")
    found.add_column("how often", justify="right")
    for about, number in tried.items():
        found.add_row(about, str(number))
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cases", type=int, default=900, help="how many malformed inputs")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which of them")
    told = parser.parse_args()
    console = Console()
    with TemporaryDirectory() as folder:
        console.print(ordeal(Path(folder), told.cases, told.seed))
    console.print(f"seed {told.seed}: each ended in one sentence, none printed a count, every folder is as it was.")


if __name__ == "__main__":
    main()
