"""The desk: every verb puts one question, which says in public what is drawn, about which bins, and what is hidden."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from penstock.curator import Curator
from penstock.desk import Question, live, scale_of, sd_of
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput
from penstock.models import PrivacyModel, WEvent
from penstock.noise import LARGEST_SCALE, ScriptedNoise, laplace_sd
from penstock.points import Points
from penstock.primitives.segment import SegmentPlan
from penstock.primitives.volley import VolleyPlan
from penstock.queries import Counts, Distance, Distances, GroupSums
from penstock.spatial import SpatialNeighbourhood
from penstock.transcript import Recorder
from penstock.types import Snapshot

LAW = WEvent(epsilon=1, w=9)
E, HALF = Epsilon("0.1"), Epsilon("0.05")
Said = tuple[str, Fraction | None, int, list[int] | None, bool]


class Asked:
    """A curator whose questions are taken down, at its first unit."""

    def __init__(self, bins: int = 3, model: PrivacyModel = LAW, first: Snapshot | None = None, **handle: Any) -> None:
        self.recorder = Recorder()
        self.curator = Curator(model, bins, noise=ScriptedNoise(), answers=self.recorder)
        for verb, arguments in handle.items():
            self.handle: Any = getattr(self.curator, verb)(*arguments)
        self.snapshot = first or Snapshot(1, range(1, bins + 1))
        self.curator.begin_unit(self.snapshot)

    def next(self) -> Snapshot:
        self.snapshot = Snapshot(self.snapshot.t + 1, range(1, self.snapshot.bins + 1))
        self.curator.begin_unit(self.snapshot)
        return self.snapshot

    @property
    def said(self) -> list[Said]:
        return [
            (each.verb, each.scale, each.draws, None if each.bins is None else each.bins.tolist(), each.hides)
            for each, _ in self.recorder.tape
        ]

    @property
    def details(self) -> list[tuple[Any, ...]]:
        return [question.details for question, _ in self.recorder.tape]


def test_nothing_is_hidden_unless_somebody_says_so() -> None:
    assert not Question("ask", None, 0, None, ()).hides
    assert live(Question("ask", None, 0, None, ()), lambda: 5) == 5


def test_counts_are_asked_by_scale_number_and_bins() -> None:
    asked, query, groups = Asked(), Counts(), GroupSums([0, 0, -1])
    asked.curator.ask(asked.snapshot, query, E)
    asked.curator.ask(asked.snapshot, query, E, bins=[2, 0])
    asked.curator.ask(asked.snapshot, query, [E, HALF], bins=[2, 0], envelope="monitor")
    asked.curator.ask(asked.snapshot, query, [E, E, HALF], envelope="monitor")
    asked.curator.ask(asked.snapshot, groups, E, envelope="decide")
    assert asked.said == [
        ("ask", Fraction(10), 3, None, False),
        ("ask", Fraction(10), 2, [2, 0], False),
        ("ask", None, 2, [2, 0], False),
        ("ask", None, 3, [0, 1, 2], False),
        ("ask", Fraction(10), 1, [0, 1], False),
    ]
    assert asked.details[0] == asked.details[1] == (query, "publish")
    assert asked.details[2][:2] == (query, "monitor")
    assert asked.details[2][2].tolist() == [E.nano, HALF.nano]
    assert asked.details[4] == (groups, "decide")


def test_the_nearest_and_a_sample_are_asked_about_all_bins() -> None:
    asked, candidates = Asked(), [Distance([0, 0, 0]), Distance([1, 2, 3])]
    assert asked.curator.nearest(asked.snapshot, candidates, E) == 1
    table = Distances([[0, 0, 0], [1, 2, 3]])
    asked.curator.nearest(asked.snapshot, table, E, envelope="monitor")
    asked.curator.sampled(asked.snapshot, 1, E, limit=5)
    assert asked.said == [
        ("nearest", None, 0, None, False),
        ("nearest", None, 0, None, False),
        ("sampled", Fraction(10), 3, None, False),
    ]
    assert asked.details == [(*candidates, E, "decide"), (*table, E, "monitor"), (Fraction(1), 5, "monitor")]


def test_a_median_is_asked_about_all_points() -> None:
    points = Points([1.5, 2.5, 5.5], "0..8/1", size_is_public=True)
    asked = Asked(3, SpatialNeighbourhood(epsilon=1, radius=2, grid="0..8/1"), points)
    asked.curator.median(points, E)
    assert asked.said == [("median", None, 0, None, False)]
    assert asked.details == [(E, "publish")]


def test_a_segment_hides_its_threshold_noise_as_it_opens() -> None:
    """And draws one value more for it; what a yes would lead to is said with the question."""
    plan, query = SegmentPlan(1, E, HALF), Distance([0, 0, 0])
    asked = Asked(segment=(plan,))
    asked.handle.above(asked.snapshot, query, 90, E)
    asked.handle.above(asked.next(), query, 80, HALF)
    assert asked.said == [("above", Fraction(20), 2, None, True), ("above", Fraction(20), 1, None, False)]
    assert asked.details == [(0, query, 90, E), (0, query, 80, HALF)]


def test_a_volley_hides_its_noise_as_it_begins() -> None:
    """All of it is drawn then, and none afterwards."""
    asked = Asked(1, volley=())
    asked.handle.renew(VolleyPlan(3, E))
    for _ in range(3):
        asked.handle.read(asked.snapshot)
        asked.next()
    assert asked.said == [("volley", Fraction(10), 3, None, True), *[("volley", Fraction(10), 0, None, False)] * 2]
    assert asked.details == [(0, 3, place, E) for place in range(3)]


def test_a_pool_hides_what_it_holds() -> None:
    asked = Asked(pool=())
    asked.handle.absorb(asked.snapshot, E)
    asked.handle.absorb(asked.snapshot, HALF, bins=[2, 1])
    asked.handle.settle(bins=[2])
    purse = asked.handle.purse(bins=[1, 0])
    purse(HALF)
    asked.handle.drop(bins=[1])
    assert asked.said == [
        ("absorb", None, 0, [0, 1, 2], True),
        ("absorb", None, 0, [2, 1], True),
        ("settle", None, 1, [2], True),
        ("read", Fraction(20), 2, [1, 0], True),
        ("drop", None, 0, [1], True),
    ]
    assert asked.details[:2] == [(0, E), (0, HALF)]
    assert asked.details[2][0] == asked.details[3][0] == asked.details[4][0] == 0
    assert asked.details[2][1].tolist() == [True]


def test_groups_hide_their_members() -> None:
    asked = Asked(grouper=(E,))
    asked.handle.extend(asked.snapshot, 2)
    asked.handle.extend(asked.next(), [2, 3, 4])
    assert asked.said == [("extend", None, 3, None, True)] * 2
    assert [(number, limits.tolist(), joining.tolist()) for number, limits, joining in asked.details] == [
        (0, [128, 128, 128], [False] * 3),
        (0, [128, 192, 256], [True] * 3),
    ]


def test_handles_are_told_apart_by_their_numbers() -> None:
    asked = Asked(pool=(), segment=(SegmentPlan(1, E, HALF),))
    asked.handle.above(asked.snapshot, Distance([0, 0, 0]), 90, E)
    assert asked.details[0][0] == 1


@pytest.mark.parametrize("other", [{}, {"pool": (2,), "segment": ()}], ids=["none", "more"])
def test_a_state_is_loaded_where_as_many_handles_were_made(other: dict[str, Any]) -> None:
    public, sealed = Asked(pool=()).curator.save()
    blank = Curator(LAW, 3, noise=ScriptedNoise())
    for verb, arguments in other.items():
        getattr(blank, verb)(*arguments)
    with pytest.raises(ValueError, match=r"zip\(\)"):
        blank.load(public, sealed)


def test_noise_follows_from_the_charge_up_to_what_64_bits_hold() -> None:
    least = int(NANO / LARGEST_SCALE) + 1
    assert scale_of(1, 2) == Fraction(NANO, 2)
    assert sd_of(3, NANO) == laplace_sd(Fraction(3))
    assert scale_of(1, least) <= LARGEST_SCALE
    most = int(LARGEST_SCALE / NANO)
    assert scale_of(most, 1) <= LARGEST_SCALE
    with pytest.raises(BadInput, match="does not fit in 64 bits"):
        scale_of(most + 1, 1)
    with pytest.raises(BadInput, match="at least one nano-epsilon"):
        scale_of(1, 0)


@pytest.mark.parametrize("ask", [lambda c, s, e: c.ask(s, Counts(), e), lambda c, s, e: c.purse(s, e)])
def test_a_budget_is_an_epsilon_above_nothing(ask: Callable[..., Any]) -> None:
    asked = Asked()
    with pytest.raises(BadInput, match=r"a budget is an Epsilon; write Epsilon\(\.\.\.\)"):
        ask(asked.curator, asked.snapshot, 0.5)
    with pytest.raises(BadInput, match="a question costs at least one nano-epsilon"):
        ask(asked.curator, asked.snapshot, Epsilon(0))
    assert not asked.said
