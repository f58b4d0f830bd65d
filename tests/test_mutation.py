"""Mutation testing: which changes are made, which tests are near, and what is kept of a verdict."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.audit.mutation import __main__ as command
from penstock.audit.mutation.aims import AIMS, find_near_files
from penstock.audit.mutation.forks import Ended, Report, Task, run_all
from penstock.audit.mutation.mutants import Mutant, make_mutants
from penstock.audit.mutation.nearest import TRIED_SECONDS, Near, Nearest, trace_all
from penstock.audit.mutation.scores import add_up, compute_score, make_page
from penstock.audit.mutation.testing import Touched, attempt
from penstock.audit.mutation.verdicts import TIME, Book, Equivalents, Verdict
from penstock.errors import BadInput

REPOSITORY = Path(__file__).parents[1]
SOURCE = '''"""Words with 1 < 2."""

from some.where import Base

LIMIT: int = 5


@lru_cache(maxsize=64)
def cut(values: "tuple[int, 3]", most: int = LIMIT) -> int:
    """Cut 7 of them."""
    if not values:
        raise ValueError(f"there are {len(values) + 1} values")
    return min(values[0], most)


class Sum(Base[3]):
    total: int = 0

    def add(self, more):
        self.total += more
        while more < 3 and self.total:
            log(more, self.total)
            break
'''
EXPECTED = {
    ("", "LIMIT: int = 5", "LIMIT: int = 6"),
    ("", "LIMIT: int = 5", "LIMIT: int = 4"),
    ("cut", "if not values:", "if values:"),
    ("cut", 'raise ValueError(f"there are {len(values) + 1} values")', "pass"),
    ("cut", "return min(values[0], most)", "return None"),
    ("cut", "return min(values[0], most)", "return max(values[0], most)"),
    ("cut", "return min(values[0], most)", "return min(values[1], most)"),
    ("cut", "return min(values[0], most)", "return min(values[(-1)], most)"),
    ("Sum", "total: int = 0", "total: int = 1"),
    ("Sum", "total: int = 0", "total: int = (-1)"),
    ("Sum.add", "self.total += more", "pass"),
    ("Sum.add", "while more < 3 and self.total:", "while (not (more < 3 and self.total)):"),
    ("Sum.add", "while more < 3 and self.total:", "while more < 3 or self.total:"),
    ("Sum.add", "while more < 3 and self.total:", "while more <= 3 and self.total:"),
    ("Sum.add", "while more < 3 and self.total:", "while more < 4 and self.total:"),
    ("Sum.add", "while more < 3 and self.total:", "while more < 2 and self.total:"),
    ("Sum.add", "log(more, self.total)", "pass"),
    ("Sum.add", "log(more, self.total)", "log(self.total, more)"),
    ("Sum.add", "break", "continue"),
}


def made(folder: Path, source: str = SOURCE) -> list[Mutant]:
    (folder / "some.py").write_text(source, encoding="utf-8")
    return make_mutants("some.py", folder)


# ---- mutants --------------------------------------------------------------------------------------------------------


def test_every_kind_of_change_is_made_and_words_types_and_decorators_are_left_alone(tmp_path: Path) -> None:
    mutants = made(tmp_path)
    assert {(each.scope, each.before, each.after) for each in mutants} == EXPECTED
    assert len(mutants) == len({each.key for each in mutants}) == len(EXPECTED)
    assert {each.function for each in mutants} == {"", "cut", "Sum.add"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a == b", "a != b"),
        ("a is not None", "a is None"),
        ("a is None", "a is not None"),
        ("a not in b", "a in b"),
        ("(a) >= (b)", "(a) > (b)"),
        ("(a + b) * c", "(a + b) / c"),
        ("a // b", "a * b"),
        ("a << b", "a >> b"),
        ("a and b", "a or b"),
        ("a < b <= c", "a < b < c"),
        ("[x for x in a if x]", "[x for x in a if (not (x))]"),
        ("b if a else c", "b if (not (a)) else c"),
        ("np.maximum(a, b)", "np.minimum(a, b)"),
        ("any(a)", "all(a)"),
        ("f(a, b, c)", "f(b, a, c)"),
        ("0.5", "1.0"),
        ("True", "False"),
    ],
)
def test_operators(tmp_path: Path, before: str, after: str) -> None:
    assert f"x = {after}" in {mutant.after for mutant in made(tmp_path, f"x = {before}\n")}


@pytest.mark.parametrize("file", ["transcript.py", "store/links.py", "charges.py", "codec.py"])
def test_a_mutant_is_the_file_with_one_change_in_its_line(file: str) -> None:
    folder = REPOSITORY / "src" / "penstock"
    source = (folder / file).read_text(encoding="utf-8")
    for mutant in make_mutants(file, folder):
        changed = mutant.apply(source)
        compile(changed, file, "exec")
        assert changed != source
        assert changed.splitlines()[: mutant.line - 1] == source.splitlines()[: mutant.line - 1]


def test_a_mutant_keeps_its_name_when_the_file_changes_elsewhere(tmp_path: Path) -> None:
    """And its code changes with its function, but not with a comment or a docstring."""
    before = {each.key: each for each in made(tmp_path)}
    elsewhere = SOURCE.replace("LIMIT: int = 5", "OTHER = 1\nLIMIT: int = 5").replace("Cut 7", "# Cut some")
    after = {each.key: each for each in made(tmp_path, elsewhere)}
    assert before.keys() <= after.keys()
    assert all(before[key].code == after[key].code for key in before)
    changed = {each.key: each for each in made(tmp_path, SOURCE.replace("            break", "            return"))}
    assert {before[key].scope for key in before.keys() & changed if before[key].code != changed[key].code} == {
        "Sum.add"
    }


def test_equal_changes_of_equal_statements_are_numbered(tmp_path: Path) -> None:
    mutants = made(tmp_path, "def f():\n    a(1)\n    a(1)\n")
    assert sorted((each.after, each.number) for each in mutants if each.kind == "constant") == [
        *[("a(0)", 0), ("a(0)", 1)],
        *[("a(2)", 0), ("a(2)", 1)],
    ]


# ---- processes ------------------------------------------------------------------------------------------------------


def say(words: list[str], report: Report) -> None:
    for word in words:
        report(word)


def spin(report: Report) -> None:
    report("begun")
    while True:
        pass


def sleep(report: Report) -> None:
    time.sleep(60)


def break_down(report: Report) -> None:
    os._exit(3)


def test_tasks_tell_what_they_find_and_are_ended_at_their_limit() -> None:
    works: dict[str, tuple[Callable[[Report], None], float]] = {
        "words": (partial(say, ["a", "b"]), 9),
        "nothing": (partial(say, []), 9),
        "spins": (spin, 1),
        "sleeps": (sleep, 0.1),
        "breaks": (break_down, 9),
    }
    tasks = (Task(name, work, limit) for name, (work, limit) in works.items())
    ended = {each.about: each for each in run_all(tasks, 2)}
    assert ended["words"] == Ended("words", ["a", "b"], late=False, died=False)
    assert ended["nothing"] == Ended("nothing", [], late=False, died=False)
    assert ended["spins"] == Ended("spins", ["begun"], late=True, died=False)
    assert ended["sleeps"] == Ended("sleeps", [], late=True, died=False)
    assert ended["breaks"] == Ended("breaks", [], late=False, died=True)


# ---- tests that are near --------------------------------------------------------------------------------------------


def touched(test: str, *functions: str, seconds: float = 1) -> Touched:
    return Touched(f"tests/test_some.py::{test}", seconds, frozenset(("some.py", name) for name in functions))


def test_the_nearest_test_runs_the_function_and_little_else(tmp_path: Path) -> None:
    nearest = Nearest(
        [
            touched("test_much", "cut", "other", "third"),
            touched("test_cut[1]", "cut"),
            touched("test_cut[2]", "cut"),
            touched("test_other", "other"),
            touched("test_proof_is_current", "cut"),
        ]
    )
    near = {mutant.function: nearest.find(mutant) for mutant in made(tmp_path)}
    names = [name.split("::")[1] for name in near["cut"].names]
    assert names == ["test_cut[1]", "test_much", "test_cut[2]"]  # parameters take turns with other tests
    assert near["cut"].seconds == 3
    at_import = {"test_much", "test_cut[1]", "test_cut[2]", "test_other"}
    assert {name.split("::")[1] for name in near[""].names} == at_import
    assert near["Sum.add"].names == near[""].names  # nothing runs it, so it may run at import


def elsewhere(test: Touched) -> Touched:
    """The same test in a file of another name."""
    return test._replace(test=test.test.replace("test_some", "test_other"))


def test_tests_are_tried_for_so_long_and_the_nearest_one_always(tmp_path: Path) -> None:
    mutant = next(each for each in made(tmp_path) if each.function == "cut")
    lengths = [TRIED_SECONDS + 1, 1, 1]
    far = [elsewhere(touched(f"test_{i}", "cut", *"abc"[:i], seconds=length)) for i, length in enumerate(lengths)]
    assert [name[-1] for name in Nearest(far).find(mutant).names] == ["0"]
    nearer = elsewhere(touched("test_9", "cut"))
    assert [name[-1] for name in Nearest([nearer, *far]).find(mutant).names] == ["9", "1", "2"]


def test_tests_in_a_file_of_the_same_name_come_first_and_the_quickest_of_them(tmp_path: Path) -> None:
    mutant = next(each for each in made(tmp_path) if each.function == "cut")
    named = [touched("test_1", "cut", seconds=3), touched("test_2", "cut", "other", seconds=2)]
    found = Nearest([elsewhere(touched("test_3", "cut", seconds=1)), *named]).find(mutant)
    assert [name[-1] for name in found.names] == ["2", "1", "3"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package of the same name, and a file of tests."""
    package = tmp_path / "src" / "penstock"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "some.py").write_text("def cut(a):\n    return min(a, 5)\n\n\ndef far(a):\n    return a + 1\n", "utf-8")
    tests = tmp_path / "tests"
    tests.mkdir()
    words = (
        "from penstock.some import cut\n\n\ndef test_cut():\n    assert cut(7) == 5\n\n\ndef test_no():\n    assert 0\n"
    )
    (tests / "test_some.py").write_text(words, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tried(folder: Path, mutant: Mutant | None) -> list[Any]:
    names = ["tests/test_some.py::test_cut"]
    task = Task("", partial(attempt, folder / f"copy{mutant and mutant.key}", mutant, names), 60)
    (ended,) = run_all(iter([task]), 1)
    return ended.results


def test_tests_are_traced_once_and_a_mutant_is_tried_on_a_copy(repository: Path, tmp_path: Path) -> None:
    source, kept, shown = repository / "src", repository / "traces", list[int]()
    for _ in range(2):
        traced = trace_all(source, kept, ["some.py"], ["tests/test_some.py"], 1, lambda: shown.append(1))
        assert [(each.test, each.functions) for each in traced] == [
            ("tests/test_some.py::test_cut", frozenset({("some.py", "cut")}))  # the other one fails as it is
        ]
    assert len(shown) == 2
    mutants = {mutant.after: mutant for mutant in make_mutants("some.py", source / "penstock")}
    assert tried(tmp_path, None) == tried(tmp_path, mutants["return a - 1"]) == []
    assert tried(tmp_path, mutants["return max(a, 5)"]) == ["tests/test_some.py::test_cut"]
    assert "min(a, 5)" in (source / "penstock" / "some.py").read_text(encoding="utf-8")


def test_tests_that_cannot_be_run_are_named(repository: Path) -> None:
    (repository / "tests" / "test_some.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"no test of tests/test_some\.py passes on the code as it is"):
        trace_all(repository / "src", repository / "traces", [], ["tests/test_some.py"], 1, lambda: None)


def test_it_aims_at_files_that_are_there_and_finds_their_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert all(Path("src", "penstock", aim).is_file() for aim in AIMS)
    assert {"tests/test_ledger.py", "tests/test_noise_coins.py", "tests/test_recovery.py"} <= set(find_near_files())
    assert "tests/test_cli.py" not in find_near_files()


def test_it_runs_in_the_repository_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main([]) == 2


# ---- verdicts -------------------------------------------------------------------------------------------------------


def test_verdicts_are_kept_and_dropped_with_the_code(tmp_path: Path) -> None:
    """A line that was cut short by a crash is no verdict."""
    first, second, third = made(tmp_path)[:3]
    path = tmp_path / "verdicts.csv"
    book = Book(path)
    book.add(first, "", "v1")
    book.add(first, "tests/test_some.py::test_cut", "v1")
    book.add(second, "", "v1")
    path.write_text(path.read_text(encoding="utf-8") + "some.py,abc", encoding="utf-8")
    again = Book(path)
    assert again[first] == Verdict("some.py", first.key, first.code, "tests/test_some.py::test_cut", "")
    assert again[second] == Verdict("some.py", second.key, second.code, "", "v1")
    assert again[third] is None
    assert again[replace(first, code="other")] is None
    again.tidy([first])
    assert Book(path)[second] is None
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2


def test_a_verdict_holds_as_long_as_its_tests_are_the_same(repository: Path) -> None:
    mutant = next(each for each in make_mutants("some.py", repository / "src" / "penstock") if each.function == "cut")
    near = Nearest([touched("test_cut", "cut")])
    version = near.find(mutant).version
    lived = Verdict("some.py", mutant.key, mutant.code, "", version)
    killed = lived._replace(killer="tests/test_some.py::test_cut[1]", tests="")
    assert lived.holds(mutant, near)
    assert killed.holds(mutant, near)
    assert lived._replace(killer=TIME).holds(mutant, near)
    assert not killed._replace(killer="tests/test_some.py::test_gone").holds(mutant, near)
    assert not killed._replace(killer="tests/test_gone.py::test_cut").holds(mutant, near)
    assert not lived.holds(mutant, Nearest([touched("test_no", "cut")]))
    (repository / "tests" / "test_some.py").write_text("def test_cut():\n    pass\n", encoding="utf-8")
    assert not lived.holds(mutant, near)
    assert Near((), 0).version != version


LISTED = """# a comment

some.py cut
- return min(values[0], most)
+ return min(values[(-1)], most)
= there is one value.

some.py
- LIMIT: int = 5
+ LIMIT: int = 6
= why not.
"""


def test_equivalent_mutants_are_listed_with_the_reason(tmp_path: Path) -> None:
    path, mutants = tmp_path / "equivalent.txt", made(tmp_path)
    path.write_text(LISTED, encoding="utf-8")
    listed = Equivalents.read(path)
    assert [mutant.after for mutant in mutants if mutant in listed] == [
        "LIMIT: int = 6",
        "return min(values[(-1)], most)",
    ]
    assert listed.find_stale(mutants) == []
    assert listed.find_stale(mutants[1:]) == ["some.py : LIMIT: int = 6"]
    for damaged in (LISTED.replace("= why not.\n", ""), LISTED.replace("+ LIMIT", "LIMIT")):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(BadInput, match=r"an equivalent mutant has four lines.*some\.py"):
            Equivalents.read(path)


def test_a_score_counts_what_was_killed_of_what_could_be(tmp_path: Path) -> None:
    (tmp_path / "equivalent.txt").write_text(LISTED, encoding="utf-8")
    listed, mutants, book = Equivalents.read(tmp_path / "equivalent.txt"), made(tmp_path), Book(tmp_path / "book.csv")
    plain = [mutant for mutant in mutants if mutant not in listed]
    for mutant in plain[:3]:
        book.add(mutant, "tests/test_some.py::test_cut", "v1")
    book.add(plain[3], "", "v1")
    found = compute_score("some.py", mutants, book, listed)
    assert found[1:5] == (len(EXPECTED), 6, 3, 2)
    assert found.alive == (plain[3],)
    assert (found.value, found.is_enough) == (0.75, False)
    everything = add_up([found, compute_score("other.py", [], book, listed)])
    assert everything[1:] == found[1:]
    text = make_page([found], 15)
    assert f"@@ some.py:{plain[3].line} {plain[3].scope}\n- {plain[3].before}\n+ {plain[3].after}" in text
    assert "75.0%" in text
