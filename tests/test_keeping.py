"""One-time publications in a store: drawn once, whatever happens, and the very same whenever they are told again."""

import multiprocessing
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, crash_at
from penstock import static
from penstock.charges import Point, recount
from penstock.errors import KeyMissing, OtherStream, OutOfOrder, StoreInUse, StoreRolledBack
from penstock.static.declared import PUBLICATIONS, declaration_of, is_once, law_of, publication_of
from penstock.store import Archive
from penstock.store.record import unpack
from penstock.store.verify import verify, verify_file
from penstock.types import Cause, Published

GRID = "0..10/0.5"
VALUES = np.linspace(0.1, 9.9, 40)
LAW = static.SpatialNeighbourhood(epsilon=1, radius=2, grid=GRID)
PLANE = static.SpatialNeighbourhood(epsilon=1, radius=2, grid="0..10/2,0..4/1")
ALL = [
    static.SortedPoints(),
    static.SortedPoints(group=7),
    static.CumulativeHistogram(),
    static.PlainHistogram(),
    static.PlainHistogram(histogram="quadtree(split=4)"),
    static.Median(),
]
POINTS = ("intent", "draw", "write", "commit", "head")
LOST = ("intent", "draw", "write")


def points(values: Any = VALUES, law: static.SpatialNeighbourhood = LAW) -> static.Points:
    return static.Points(values, law.snapped_to, size_is_public=True)


def kept(store: ps.Store, publication: static.Publication = ALL[0], name: str = "p", **options: Any) -> static.Keeper:
    law = options.pop("law", LAW)
    return static.Keeper(publication, law, options.pop("size", len(VALUES)), store, name, **options)


def published(path: Path, publication: static.Publication = ALL[0], name: str = "p", **options: Any) -> Published:
    """Publish in a store that is opened for it, and leave like a process that is killed."""
    given = options.pop("points", None) or points()
    with ps.Store(path, at=options.pop("at", lambda point: None)) as store:
        return kept(store, publication, name, **options).publish(given)


def checked(path: Path, name: str = "p") -> list[Published]:
    """What is stored, if it is whole and within the law, counted by brute force."""
    with Archive(path) as archive:
        verify_file(archive)
        verify(archive, name)
        account, law = archive.account(name), law_of(archive.streams()[name])
        facts = [fact for record in archive.records(account) for fact in unpack(record.body).facts]
        assert recount(facts, law) <= ps.Epsilon(law.epsilon)
        assert all(isinstance(fact, Point) and fact.t == 1 for fact in facts)
        return list(archive.published(account))


@pytest.mark.parametrize("publication", ALL, ids=str)
def test_it_is_the_very_same_whenever_it_is_told_again(publication: static.Publication, tmp_path: Path) -> None:
    first = published(tmp_path / "db", publication)
    again = published(tmp_path / "db", publication, points=points(VALUES[::-1] * 0.9))  # which nobody looks at
    (stored,) = checked(tmp_path / "db")
    assert first.same_as(again)
    assert first.same_as(stored)
    assert (first.link, first.charged, first.remaining) == (stored.link, ps.Epsilon(1), ps.Epsilon(0))
    assert (first.label, first.cause, first.version.count("+")) == ("once", Cause.DECIDED, 1)
    with Archive(tmp_path / "db") as archive:
        declared = archive.streams()["p"]
        assert publication_of(declared) == publication
        assert law_of(declared) == LAW
        assert len(declared["bins"]) == len(first.values)


def test_nothing_is_drawn_for_what_is_stored(tmp_path: Path) -> None:
    first = published(tmp_path / "db")
    with mock.patch.object(ps.SecureNoise, "laplace", side_effect=AssertionError("drawn")):
        assert published(tmp_path / "db").same_as(first)
        with pytest.raises(AssertionError, match="drawn"):
            published(tmp_path / "db", name="other")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("publication", [ALL[0], ALL[4], ALL[5]], ids=str)
def test_killed_anywhere_it_is_lost_or_the_same(publication: static.Publication, point: str, tmp_path: Path) -> None:
    with pytest.raises(Crash):
        published(tmp_path / "db", publication, at=crash_at(point))
    for _ in range(2):
        if point in LOST:
            with pytest.raises(ps.BudgetExceeded, match=r'"p" was cut short.*under another name'):
                published(tmp_path / "db", publication)
        else:
            assert published(tmp_path / "db", publication).cause is Cause.DECIDED
    (stored,) = checked(tmp_path / "db")
    assert stored.charged == ps.Epsilon(1)
    assert (stored.cause is Cause.LOST) == (point in LOST) == (not stored.is_new)
    assert published(tmp_path / "db", publication, name="q").cause is Cause.DECIDED


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kills=st.lists(st.sampled_from([*POINTS, "no"]), min_size=1, max_size=4), publication=st.sampled_from(ALL))
def test_however_often_it_is_killed_it_is_drawn_once(
    kills: list[str], publication: static.Publication, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, draws, seen = tmp_path_factory.mktemp("kills") / "db", list[int](), list[Published]()
    drawn = static.Publication.released

    def counted(self: static.Publication, curator: ps.Curator, given: static.Points) -> ps.Release:
        draws.append(1)
        return drawn(self, curator, given)

    with mock.patch.object(static.Publication, "released", counted):
        for point in kills:
            try:
                seen.append(published(path, publication, at=crash_at(point)))
            except (Crash, ps.BudgetExceeded):
                continue
    assert len(draws) <= 1
    assert all(each.same_as(seen[0]) for each in seen)
    try:
        assert published(path, publication).charged == ps.Epsilon(1)
    except ps.BudgetExceeded:
        assert not seen
    checked(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"publication": static.Median()}, "begun with mechanism = SortedPoints and is opened with mechanism = Median"),
        ({"publication": static.SortedPoints(group=2)}, "the usual group and is opened with group = 2"),
        ({"law": static.SpatialNeighbourhood(epsilon=2, radius=2, grid=GRID)}, "epsilon = 1 and is opened with"),
        ({"law": static.SpatialNeighbourhood(epsilon=1, radius=3, grid=GRID)}, "radius = 2 and is opened with"),
        ({"law": static.SpatialNeighbourhood(epsilon=1, radius=2, grid="0..10/1")}, "grid = 0..10/0.5 and is opened"),
        ({"size": 41}, "size = 40 and is opened with size = 41"),
        ({"columns": ["age"]}, r"columns = \[\] and is opened with columns = \['age'\]"),
    ],
)
def test_another_publication_needs_another_name(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    first = published(tmp_path / "db")
    with ps.Store(tmp_path / "db") as store, pytest.raises(OtherStream, match=sentence):
        kept(store, **change)
    assert published(tmp_path / "db").same_as(first)


def test_a_stream_is_no_publication_and_the_other_way_round(tmp_path: Path) -> None:
    published(tmp_path / "db")
    uniform = ps.Uniform(model=ps.WEvent(epsilon=1, w=3))
    with ps.Store(tmp_path / "db") as store:
        with pytest.raises(OtherStream, match="mechanism = SortedPoints"):
            ps.Publisher(uniform, store, "p", bins=["a"])
        with ps.Publisher(uniform, store, "s", bins=["a"]) as publisher:
            publisher.publish(ps.Snapshot(1, [3]))
        with pytest.raises(OtherStream, match="mechanism = Uniform"):
            kept(store, name="s")
        assert {name: is_once(told) for name, told in store.streams().items()} == {"p": True, "s": False}


def test_a_store_takes_secure_noise_only(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, pytest.raises(ps.BadInput, match="secure noise only"):
        kept(store, noise=ps.SimulationNoise(1))


def test_several_about_the_same_people_share_their_budget(tmp_path: Path) -> None:
    people: dict[str, Any] = {"population": "patients", "population_epsilon": 2}
    with ps.Store(tmp_path / "db") as store, pytest.raises(ps.BudgetExceeded, match="is new here"):
        kept(store, population="patients")
    for name in ("a", "b", "a"):
        published(tmp_path / "db", name=name, **people)
    with pytest.raises(ps.BudgetExceeded, match='"patients" has 0 of 2 left'):
        published(tmp_path / "db", name="c", **people)
    with pytest.raises(OtherStream, match="cannot change"):
        published(tmp_path / "db", name="c", population="patients", population_epsilon=3)
    with ps.Store(tmp_path / "db") as store:
        uniform = ps.Uniform(model=ps.EventLevel(epsilon="0.1"))
        with pytest.raises(ps.PenstockError, match="one kind of model"):
            ps.Publisher(uniform, store, "s", bins=["a"], population="patients")


def test_what_was_lost_stays_set_aside(tmp_path: Path) -> None:
    people: dict[str, Any] = {"population": "patients", "population_epsilon": "1.5"}
    with pytest.raises(Crash):
        published(tmp_path / "db", at=crash_at("draw"), **people)
    with pytest.raises(ps.BudgetExceeded, match=r"0\.5 of 1\.5 left"):
        published(tmp_path / "db", name="again", **people)


def test_who_is_publishing_keeps_others_out(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as mine, kept(mine) as keeper, ps.Store(tmp_path / "db") as other:
        with pytest.raises(StoreInUse, match="another process is publishing"):
            kept(other)
        keeper.publish(points())


def _race(path: Path, begin: Any, results: Any) -> None:
    begin.wait()
    try:
        results.put(published(path).link)
    except StoreInUse:
        results.put("")


def test_of_two_processes_one_draws(tmp_path: Path) -> None:
    ps.Store(tmp_path / "db").close()
    context = multiprocessing.get_context("spawn")
    begin, results = context.Barrier(2), context.Queue()
    both = [context.Process(target=_race, args=(tmp_path / "db", begin, results)) for _ in range(2)]
    for process in both:
        process.start()
    links = {results.get(timeout=60) for _ in both} - {""}
    for process in both:
        process.join(timeout=60)
    (stored,) = checked(tmp_path / "db")
    assert links == {stored.link}


def test_a_full_disk_and_a_missing_key_spend_nothing(tmp_path: Path) -> None:
    ps.Store(tmp_path / "db").close()
    usage = namedtuple("usage", "total used free")
    with mock.patch("shutil.disk_usage", return_value=usage(9, 9, 0)), pytest.raises(ps.StoreError, match="is full"):
        published(tmp_path / "db")
    (tmp_path / "db.key").rename(tmp_path / "moved")
    with pytest.raises(KeyMissing, match="key file"):
        published(tmp_path / "db")
    (tmp_path / "moved").rename(tmp_path / "db.key")
    assert published(tmp_path / "db").cause is Cause.DECIDED


def test_what_fails_before_it_is_paid_for_is_taken_back(tmp_path: Path) -> None:
    """Noise as wide as that does not fit into 64 bits, which is known when it is to be drawn."""
    huge = static.SpatialNeighbourhood(epsilon="0.000000001", radius="domain", grid="0..1073741824/0.5")
    given = static.Points(VALUES, huge.snapped_to, size_is_public=True)
    with (
        ps.Store(tmp_path / "db") as store,
        kept(store, law=huge) as keeper,
        pytest.raises(ps.BadInput, match="does not fit in 64 bits"),
    ):
        keeper.publish(given)
    with Archive(tmp_path / "db") as archive:
        assert archive.intent(archive.account("p")) is None
    assert published(tmp_path / "db").cause is Cause.DECIDED


def test_what_fails_after_it_was_paid_for_is_lost(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, kept(store) as keeper:
        with mock.patch.object(ps.SecureNoise, "laplace", side_effect=MemoryError), pytest.raises(MemoryError):
            keeper.publish(points())
        with pytest.raises(OutOfOrder, match="was interrupted"):
            keeper.publish(points())
    with pytest.raises(ps.BudgetExceeded, match="was cut short"):
        published(tmp_path / "db")


def test_what_could_not_be_stored_is_stored_when_it_can(tmp_path: Path) -> None:
    full = {"now": True}

    def at(point: str) -> None:
        if point == "write" and full["now"]:
            raise OSError(28, "No space left on device")

    with ps.Store(tmp_path / "db", at=at) as store, kept(store) as keeper:
        with pytest.raises(ps.StoreError):
            keeper.publish(points())
        full["now"] = False
        first = keeper.publish(points())
    assert published(tmp_path / "db").same_as(first)


def test_other_points_than_were_declared_are_refused(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, kept(store) as keeper:
        for other in (points(VALUES[1:]), static.Points(VALUES, "0..10/1", size_is_public=True)):
            with pytest.raises(ps.BadInput):
                keeper.publish(other)
        with pytest.raises(ps.BadInput, match="points"):
            keeper.publish(ps.Snapshot(1, np.ones(len(VALUES), np.int64)))  # type: ignore[arg-type]
        assert keeper.publish(points()).cause is Cause.DECIDED


def rolled_back(path: Path, what: str) -> None:
    """A store from before the publication, with the head of after it, or none."""
    with ps.Store(path) as store:
        kept(store).close()
    shutil.copy(path, path.with_suffix(".old"))
    published(path)
    shutil.copy(path.with_suffix(".old"), path)
    if what == "no head":
        path.with_name("db.head").unlink()


@pytest.mark.parametrize("what", ["old", "no head"])
def test_an_old_copy_is_refused_and_adopted_as_spent(what: str, tmp_path: Path) -> None:
    path = tmp_path / "db"
    rolled_back(path, what)
    with pytest.raises(StoreRolledBack):
        published(path)
    with ps.Store(path) as store:
        kept(store, adopt=1).close()
    with pytest.raises(ps.BudgetExceeded, match="from a store that is gone"):
        published(path)
    (stored,) = checked(path)
    assert (stored.cause, stored.charged) == (Cause.ADOPTED, ps.Epsilon(1))


def test_a_store_that_has_lost_its_head_alone_is_adopted_whole(tmp_path: Path) -> None:
    first = published(tmp_path / "db")
    (tmp_path / "db.head").unlink()
    with pytest.raises(StoreRolledBack):
        published(tmp_path / "db")
    with ps.Store(tmp_path / "db") as store:
        kept(store, adopt=1).close()
    assert published(tmp_path / "db").same_as(first)


def test_a_key_is_changed_and_lost_without_harm(tmp_path: Path) -> None:
    first = published(tmp_path / "db")
    with ps.Store(tmp_path / "db") as store:
        store.rotate_key()
    (tmp_path / "db.key").unlink()
    with ps.Store(tmp_path / "db") as store:
        store.replace_key()
    assert published(tmp_path / "db").same_as(first)


def test_what_was_measured_how_is_told_with_the_release(tmp_path: Path) -> None:
    tree = static.PlainHistogram(histogram="quadtree")
    release = published(tmp_path / "db", tree, law=PLANE, points=points(np.ones((40, 2)), PLANE))
    assert release.mechanism == "PlainHistogram by quadtree 5x4"
    assert ps.asking.count(release, np.arange(20) < 4).low is not None
    with Archive(tmp_path / "db") as archive:
        assert publication_of(archive.streams()["p"]) == tree


def test_what_cannot_be_kept_is_refused_before_anything_is_made() -> None:
    fine = static.SpatialNeighbourhood(epsilon=1, radius=1, grid="0..1000/0.0001")
    for publication in (static.CumulativeHistogram(), static.PlainHistogram()):
        with pytest.raises(ps.BadInput, match="use larger steps"):
            declaration_of(publication, fine, 10)
    with pytest.raises(ps.BadInput, match="publish a histogram"):
        declaration_of(static.SortedPoints(), fine, 10**7)
    assert declaration_of(static.Median(), fine, 10**7)["bins"] == ["median"]
    with pytest.raises(ps.BadInput, match="one axis only"):
        declaration_of(static.CumulativeHistogram(), PLANE, 10)


def test_publications_of_ones_own_are_not_known_by_name() -> None:
    declared = declaration_of(static.Median(), LAW, 10)
    assert set(PUBLICATIONS) == {"SortedPoints", "CumulativeHistogram", "PlainHistogram", "Median"}
    with pytest.raises(ps.BadInput, match="no publication that this installation knows"):
        publication_of(declared | {"mechanism": "Mine"})
