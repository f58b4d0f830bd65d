"""Domains: what bins are called, which of them a condition is about, and how large a domain may be."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import penstock as ps

MANY = tuple(f"place {i}" for i in range(88_762))

names = st.text("abcé_- .|", min_size=1, max_size=5)
texts = st.text("ab01 .|=", max_size=5)
nasty = st.one_of(st.sampled_from(["..", "|", "a|b", "1..3", "..2", "1..", "a=b", "a&b", "&", " a", "a ", ""]), texts)


@st.composite
def attributes(draw: st.DrawFn, values: st.SearchStrategy[str] = texts) -> dict[str, list[str]]:
    """Up to three attributes; a single one called "bin" would be none."""
    told = draw(st.dictionaries(names, st.lists(values, min_size=1, max_size=4, unique=True), min_size=1, max_size=3))
    assume(list(told) != ["bin"])
    return told


def refusal(call: Callable[[], object]) -> str:
    """The sentence with which something is refused."""
    with pytest.raises(ps.BadInput) as refused:
        call()
    sentence = str(refused.value)
    assert sentence.endswith((".", "?"))
    assert sentence.isprintable()
    return sentence


def quickly(call: Callable[[], Any], seconds: float) -> Any:
    begin = time.monotonic()
    done = call()
    assert time.monotonic() - begin < seconds
    return done


# ---- names -----------------------------------------------------------------------------------------------------------


@given(attributes())
def test_names_tell_what_bins_are_made_of(told: dict[str, list[str]]) -> None:
    domain = ps.Domain(told)
    again = ps.Domain.of_bins(domain.bins)
    assert list(again.attributes.items()) == [(name, tuple(values)) for name, values in told.items()]
    assert again.shape == domain.shape == tuple(map(len, told.values()))
    assert len(domain) == len(domain.bins) == len(set(domain.bins))
    assert not domain.is_plain


@pytest.mark.parametrize(
    "told",
    [
        {"a": ["x&b=1", "z&b=1"]},
        {"a": ["x&y", "z"]},
        {"a=b": ["1", "2"]},
        {"a&b": ["1", "2"]},
        {"": ["1", "2"]},
    ],
)
def test_what_names_cannot_tell_is_refused_or_told_all_the_same(told: dict[str, list[str]]) -> None:
    """A file of bins says by itself what its domain is, so a domain must not have names that say something else."""
    try:
        domain = ps.Domain(told)
    except ps.BadInput:
        return
    assert ps.Domain.of_bins(domain.bins).attributes == domain.attributes


@given(st.lists(st.one_of(texts, nasty), min_size=1, max_size=8, unique=True))
def test_bins_keep_their_names_whatever_they_are(bins: list[str]) -> None:
    assert ps.Domain.of_bins(bins).bins == tuple(bins)


@pytest.mark.parametrize(
    "bins",
    [
        ["north", "south"],
        ["a=1", "b"],
        ["a=1", "b=1"],
        ["a=1&b=1", "a=2&b=2"],
        ["a=1&b=1", "a=1&b=2", "a=2&b=1"],
        ["a=1&b=1", "a=2&b=1", "a=1&b=2", "a=2&b=2"],  # the last attribute does not run fastest
        ["a=1&b=1", "a=1&b=2", "b=1&a=2", "b=2&a=2"],
        ["a=1&a=2", "a=2&a=1"],
        ["a=1&", "a=2&"],
        ["=1", "=2"],
        ["a=1&=1", "a=2&=1"],
        ["bin=a", "bin=b"],
        ["a=1&b=1", "a=2"],
        ["a=1 & b=1", "a=2 & b=2"],
        ["", "a"],
    ],
)
def test_names_that_merely_look_like_attributes_are_plain(bins: list[str]) -> None:
    domain = ps.Domain.of_bins(bins)
    assert domain.is_plain
    assert domain.attributes == {"bin": tuple(bins)}
    assert domain.bins == tuple(bins)
    assert domain.where(bin=bins[-1]).tolist() == [False] * (len(bins) - 1) + [True]


@given(attributes(), st.randoms(use_true_random=False))
def test_shuffled_or_incomplete_products_are_plain(told: dict[str, list[str]], random: Any) -> None:
    bins = list(ps.Domain(told).bins)
    assume(len(bins) > 1)
    shuffled = random.sample(bins, len(bins))
    assert ps.Domain.of_bins(shuffled).bins == tuple(shuffled)
    fewer = random.sample(bins, len(bins) - 1)
    assert ps.Domain.of_bins(fewer).bins == tuple(fewer)


@pytest.mark.parametrize("bins", [[], ["a", "a"], ["a=1", "a=1"], ["a=1&b=1", "a=1&b=1"]])
def test_no_bins_or_the_same_one_twice_are_refused(bins: list[str]) -> None:
    refusal(lambda: ps.Domain.of_bins(bins))


@pytest.mark.parametrize("told", [{}, {"a": []}, {"a": [1], "b": []}, {"a": [1, "1"]}, {"a": ["x", "x"]}])
def test_no_attributes_no_values_or_the_same_one_twice_are_refused(told: dict[str, list[object]]) -> None:
    refusal(lambda: ps.Domain(told))


# ---- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("row=2,column=3", {"row": "012"[:2], "column": "012"}),
        ("age=3,sex=f|m", {"age": "012", "sex": "fm"}),
        (" age = 2 , sex = f | m ", {"age": "01", "sex": "fm"}),
        ("a=007", {"a": "0123456"}),
        ("a=x=y|z", {"a": ("x=y", "z")}),
        ("a=1.5|-3", {"a": ("1.5", "-3")}),
        ("a=٣", {"a": ("٣",)}),
    ],
)
def test_a_domain_is_told_in_a_line(text: str, told: dict[str, Any]) -> None:
    assert ps.Domain.parsed(text).attributes == {name: tuple(values) for name, values in told.items()}


@pytest.mark.parametrize(
    "text", ["", " ", ",", "a", "a=", "=3", "a=3,", ",a=3", "a=3,a=4", "a=0", "a=f|f", "a=|", "8x8"]
)
def test_a_domain_told_wrongly_is_refused(text: str) -> None:
    refusal(lambda: ps.Domain.parsed(text))


# ---- conditions ------------------------------------------------------------------------------------------------------


@st.composite
def condition(draw: st.DrawFn, values: list[str]) -> tuple[object, set[str]]:
    """A condition in any of the ways to tell one, and the values it is about. Values have none of the signs in them."""
    begin, end = sorted([draw(st.integers(0, len(values) - 1)), draw(st.integers(0, len(values) - 1))])
    some = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    space = draw(st.sampled_from(["", " "]))
    match draw(st.sampled_from(["one", "range", "from", "to", "all", "several", "joined", "both"])):
        case "one":
            return values[begin], {values[begin]}
        case "range":
            return f"{values[begin]}{space}..{space}{values[end]}", set(values[begin : end + 1])
        case "from":
            return f"{values[begin]}..", set(values[begin:])
        case "to":
            return f"..{values[end]}", set(values[: end + 1])
        case "all":
            return "..", set(values)
        case "several":
            return draw(st.sampled_from([list(some), tuple(some), set(some), iter(some)])), set(some)
        case "joined":
            return f"{space}|{space}".join(some), set(some)
    return "|".join([f"{values[begin]}..{values[end]}", *some]), {*values[begin : end + 1], *some}


plainly = st.lists(st.text("abc-7", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)


@given(st.data(), st.dictionaries(st.text("xyz", min_size=1, max_size=2), plainly, min_size=1, max_size=3))
def test_conditions_mean_what_they_say(data: st.DataObject, told: dict[str, list[str]]) -> None:
    asked = data.draw(st.sets(st.sampled_from(sorted(told))))
    meant = {name: data.draw(condition(told[name])) for name in asked}
    met = ps.Domain(told).where({name: spelt for name, (spelt, _) in meant.items()})
    rows = [dict(zip(told, row, strict=True)) for row in product(*told.values())]
    assert met.tolist() == [all(row[name] in right for name, (_, right) in meant.items()) for row in rows]


@pytest.mark.parametrize(
    ("told", "ages"),
    [
        (5, [5]),
        (np.int64(5), [5]),
        ([1, 3], [1, 3]),
        (range(2, 5), [2, 3, 4]),
        ("2..4", [2, 3, 4]),
        ("8..", [8, 9]),
        ("..1", [0, 1]),
        ("0|7..8|2", [0, 2, 7, 8]),
        (("0", 2), [0, 2]),
        (np.array([4]), [4]),
        (np.array([2, 4]), [2, 4]),
        (np.arange(3), [0, 1, 2]),
    ],
    ids=str,
)
def test_numbers_are_known_by_their_text(told: object, ages: list[int]) -> None:
    assert ps.Domain({"age": range(10)}).where(age=told).nonzero()[0].tolist() == ages


@given(st.lists(nasty, min_size=1, max_size=5, unique=True))
@example(["a", "b", "a|b"])
@example([" a", "a"])
def test_a_value_is_meant_by_its_own_name_whatever_that_is(values: list[str]) -> None:
    domain = ps.Domain({"bin": values})
    for i, value in enumerate(values):
        assert domain.where(bin=value).nonzero()[0].tolist() == [i]


@given(st.lists(nasty, min_size=1, max_size=5, unique=True))
@example(["a", "b", "a|b"])
@example([" a", "b"])
def test_values_in_a_list_are_meant_by_their_own_names(values: list[str]) -> None:
    domain = ps.Domain({"bin": values})
    for i, value in enumerate(values):
        assert domain.where(bin=[value]).nonzero()[0].tolist() == [i]
    assert domain.where(bin=values).all()


def test_attributes_may_be_called_anything() -> None:
    domain = ps.Domain({"self": [1, 2], "conditions": [1, 2]})
    assert domain.where(self=1, conditions=2).tolist() == [False, True, False, False]
    assert domain.where({"self": 1}, conditions=2).tolist() == [False, True, False, False]
    assert domain.where().all()


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"colour": "red"}, "there is no attribute 'colour'; there is age, sex."),
        ({"Age": "1"}, "Did you mean age?"),
        ({"age": "12"}, "\"age\" has no value '12'"),
        ({"age": "3..12"}, "\"age\" has no value '12'"),
        ({"age": "x..3"}, "\"age\" has no value 'x'"),
        ({"age": "1..2..3"}, "has no value"),
        ({"age": "5..2"}, 'no value of "age" is meant'),
        ({"age": []}, 'no value of "age" is meant'),
        ({"age": range(0)}, 'no value of "age" is meant'),
        ({"age": ""}, "has no value"),
        ({"age": "1||2"}, "has no value"),
        ({"age": "1|"}, "has no value"),
        ({"age": ["1..2"]}, "has no value"),
        ({"age": ["1|2"]}, "has no value"),
        ({"age": None}, "has no value"),
        ({"age": 1.0}, "has no value"),
        ({"age": b"1"}, "has no value"),
        ({"sex": ["f", "x"]}, "\"sex\" has no value 'x'; it has f, m."),
    ],
)
def test_a_condition_that_means_nothing_is_refused(told: dict[str, object], sentence: str) -> None:
    domain = ps.Domain({"age": range(10), "sex": ["f", "m"]})
    assert sentence in refusal(lambda: domain.where(told))


# ---- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made", ['Domain.parsed("a=99999999")', 'Domain({"a": range(10**12)})', 'Domain.parsed("a=9999,b=9999,c=9999")']
)
def test_a_huge_domain_is_refused_at_once(made: str) -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "from penstock import BadInput, Domain\n"
        f"try: {made}\n"
        "except BadInput as refused: print(refused)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("a domain has at most "), done.stderr[-200:]


def test_many_plain_bins() -> None:
    domain = quickly(lambda: ps.Domain.of_bins(MANY), 5)
    assert domain.is_plain
    assert len(domain) == len(MANY)
    assert quickly(lambda: domain.where(bin="place 88000..").sum(), 1) == 762
    assert quickly(lambda: domain.where(bin=MANY[-1]).sum(), 1) == 1


def test_many_plain_bins_can_be_listed() -> None:
    domain = ps.Domain.of_bins(MANY)
    assert quickly(lambda: domain.where(bin=MANY[-2000:]).sum(), 2) == 2000


def test_many_bins_made_of_attributes() -> None:
    told = ps.Domain({"row": range(300), "column": range(300)})
    assert quickly(lambda: ps.Domain.of_bins(told.bins), 5).attributes == told.attributes
    assert quickly(lambda: ps.Domain.of_bins([f"a={i}&b={i}" for i in range(88_762)]), 5).is_plain
