"""The documents are true: the README's code runs, its links lead somewhere, and its lists are complete."""

import ast
import json
import re
from dataclasses import fields
from pathlib import Path
from textwrap import dedent

import pytest

import penstock as ps
from in_process import command
from penstock.checks import CHECKS
from penstock.cli.settings import from_toml

ROOT = Path(__file__).parent.parent
SOURCE = Path(ps.__file__).parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(3))
def test_readme_code_runs(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code) == 3
    exec(compile(code[number], f"README.md, block {number}", "exec"), {})
    assert capsys.readouterr().out


def test_the_five_line_example_publishes_every_unit(capsys: pytest.CaptureFixture[str]) -> None:
    exec(re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0], {})
    printed = capsys.readouterr().out
    assert [int(t) for t in re.findall(r"^(\d+) \[", printed, re.MULTILINE)] == list(range(1, 1001))


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_code_in_other_documents_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("week,a,b\n2026-W01,3,4\n2026-W02,5,6\n", encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(code, path.name, "exec"), {})


OPERATING = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def test_the_operators_code_and_settings_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("week,a,b\n2026-W01,3,4\n2026-W02,5,6\n", encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", OPERATING, re.DOTALL)
    exec(compile(code, "operating.md", "exec"), {})
    assert len(Path("releases.csv").read_text(encoding="utf-8").splitlines()) == 3
    (settings,) = re.findall(r"```toml\n(.*?)```", OPERATING, re.DOTALL)
    Path("flu.toml").write_text(settings, encoding="utf-8")
    told = from_toml(Path("flu.toml"))
    assert told.made().model == ps.WEvent(epsilon=1, w=52)
    assert set(re.findall(r"^(\w+) = ", settings.split("[")[0], re.MULTILINE)) <= {each.name for each in fields(told)}


def test_the_mechanism_that_authors_are_shown_passes_all_checks_but_for_its_sketch(tmp_path: Path) -> None:
    blocks = re.split(r"^(?=\S)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    shown = [dedent(block.partition("\n\n")[2]) for block in blocks if "`mine.py`:" in block or "`mine.md`," in block]
    for name, text in zip(("mine.py", "mine.md"), shown, strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    _, out, _ = command("check", tmp_path / "mine.py", "--json")
    assert [row["check"] for row in json.loads(out) if row["broken"]] == ["proof_is_current"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert link.startswith("http") or (path.parent / link).exists(), link


def test_the_readme_names_every_mechanism_and_counts_the_checks() -> None:
    for mechanism in ps.mechanisms().values():
        assert f"`{mechanism.__name__}`" in README
    assert len(CHECKS) == 21
    assert "passes twenty-one checks" in README


def test_decision_records_are_short_and_numbered() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    assert all(len(record.read_text(encoding="utf-8").splitlines()) <= 30 for record in records)


def imported(name: str, known: set[str]) -> set[str]:
    """The modules of this package that a module of it imports, itself and all that these import included."""
    path = SOURCE / f"{name.replace('.', '/')}.py"
    if name in known or not path.is_file():
        return known
    known.add(name)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("penstock."):
            imported(str(node.module).removeprefix("penstock."), known)
    return known


def test_the_list_of_what_has_to_be_trusted_is_what_the_curator_imports() -> None:
    """All of ``noise`` is trusted, and ``errors`` holds no code."""
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    listed = text[text.index("The *kernel*:") : text.index("(A test compares")]
    named, inner = (set(re.findall(r"`([a-z]+)/?`", part)) for part in listed.split("`primitives/`"))
    modules = {name for name in imported("curator", set()) if not name.startswith("noise.")} - {"errors"}
    assert named - {"noise"} | {f"primitives.{name}" for name in inner} == modules
