"""The documents are true: the README's code runs, its links lead somewhere, and its lists are complete."""

import re
from pathlib import Path

import pytest

import penstock as ps
from penstock.checks import CHECKS

ROOT = Path(__file__).parent.parent
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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert link.startswith("http") or (path.parent / link).exists(), link


def test_the_readme_names_every_mechanism_and_counts_the_checks() -> None:
    for mechanism in ps.mechanisms().values():
        assert f"`{mechanism.__name__}`" in README
    assert len(CHECKS) == 15
    assert "passes fifteen checks" in README


def test_decision_records_are_short_and_numbered() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    assert all(len(record.read_text(encoding="utf-8").splitlines()) <= 30 for record in records)
