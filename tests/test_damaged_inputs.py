"""Files that are damaged, and names and settings that nothing can have: each is refused in a sentence, in its turn."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from in_process import command
from penstock.streams import Calendar

pa: Any = importlib.import_module("pyarrow")
pq: Any = importlib.import_module("pyarrow.parquet")


def parquet_of(path: Path, columns: dict[str, Any], **options: Any) -> bytes:
    """A Parquet file in which a count is where its bytes are, and nowhere else."""
    pq.write_table(
        pa.table(columns),
        path,
        write_page_checksum=True,
        write_statistics=False,
        compression="none",
        use_dictionary=False,
        **options,
    )
    return path.read_bytes()


def test_rows_before_a_damaged_page_come_first_and_then_the_damage_is_told(tmp_path: Path) -> None:
    path, counts = tmp_path / "in.parquet", list(range(7_700_000, 7_700_050))
    whole = parquet_of(path, {"t": list(range(1, 51)), "a": counts}, data_page_size=64, write_batch_size=8)
    place = whole.index(counts[30].to_bytes(8, "little"))
    path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
    seen: list[int] = []
    with pytest.raises(ps.BadInput, match=r"in.parquet, row \d+ cannot be read; the file is damaged") as refused:
        seen.extend(snapshot.t for snapshot in ps.streams.read(path).snapshots(Calendar()))
    assert 8 <= len(seen) <= 30
    assert seen == list(range(1, len(seen) + 1))
    assert f"row {len(seen) + 1} " in str(refused.value)
    assert "77000" not in str(refused.value)


@pytest.mark.parametrize("at", [0, 2, 40])
def test_a_time_before_the_first_year_is_refused_in_its_turn(tmp_path: Path, at: int) -> None:
    path, day = tmp_path / "in.parquet", 86_400_000_000
    times = [day * t for t in range(1, 51)]
    times[at] = -(10**17)
    parquet_of(path, {"t": pa.array(times, pa.timestamp("us")), "a": list(range(50))})
    seen: list[int] = []
    with pytest.raises(ps.BadInput, match=f"row {at + 1}, column 1: the time lies in no year from 1 to 9999"):
        seen.extend(snapshot.t for snapshot in ps.streams.read(path).snapshots(Calendar()))
    assert seen == list(range(1, at + 1))


def test_truths_are_no_counts_even_beside_counts(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    parquet_of(path, {"t": [1, 2], "a": [5, 6], "b": [True, False]})
    with pytest.raises(ps.BadInput, match="holds something else than counts"):
        list(ps.streams.read(path).snapshots(Calendar()))


@pytest.mark.parametrize("door", [ps.streams.read, ps.Store, lambda path: ps.streams.write(path, ["a"])])
def test_no_file_has_a_name_with_a_nul_character(tmp_path: Path, door: Callable[[str], object]) -> None:
    with pytest.raises(ps.BadInput, match="no file has a name with a NUL character"):
        door(f"{tmp_path}/a\0b.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb", "\ud800"])
def test_streams_and_populations_have_names_that_can_be_written_down(tmp_path: Path, name: str) -> None:
    with ps.Store(tmp_path / "s.db") as store:
        for named in ({"stream": name}, {"stream": "s", "population": name, "population_epsilon": 1}):
            with pytest.raises(ps.BadInput, match="is printable text"):
                ps.Publisher(ps.Uniform(model=ps.WEvent(epsilon=1, w=5)), store, bins=["a"], **named)
        assert not store.streams()
        assert not store.populations()


@pytest.mark.parametrize(
    "text", ["[" * 5000, "a = " + "[" * 5000, "x = " + "{a=" * 5000], ids=["table", "list", "inner"]
)
def test_settings_that_are_nested_without_end_are_no_toml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    code, out, err = command("run", path)
    assert (code, out, "is not valid TOML" in " ".join(err.split())) == (2, "", True)
    assert list(tmp_path.iterdir()) == [path]


def test_a_parameter_that_is_nested_without_end_is_text() -> None:
    code, _, err = command("simulate", "--epsilon", "1", "--mechanism", "ba", "--set", "histogram=" + "[" * 5000)
    assert (code, "no histogram method is called" in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize("verb", [("key", "rotate"), ("key", "lost"), ("ledger", "adopt", "--stream", "s", "--yes")])
def test_an_empty_file_does_not_become_a_store_by_being_looked_at(tmp_path: Path, verb: tuple[str, ...]) -> None:
    path = tmp_path / "s.db"
    path.touch()
    code, _, err = command(*verb, path)
    assert (code, "there is no store" in " ".join(err.split())) == (2, True)
    assert (list(tmp_path.iterdir()), path.stat().st_size) == ([path], 0)


def test_a_link_that_leads_to_itself_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "loop.db").symlink_to("loop.db")
    for words in (("ledger", "show"), ("statement",), ("key", "rotate")):
        code, _, err = command(*words, tmp_path / "loop.db")
        assert (code, "there is no store" in " ".join(err.split())) == (2, True)
