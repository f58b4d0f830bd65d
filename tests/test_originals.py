"""Public originals: what comes of their bodies, and that a download is there as a whole or not at all."""

import csv
import errno
import gzip
import io
import json
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench.originals import ORIGINALS, Original, fetch, original_named, pages_by_hour
from penstock.bench.originals import download as downloading
from penstock.bench.originals.census import people, unpacked
from penstock.bench.originals.download import moved
from penstock.bench.originals.flu import AGES, STATES, ages, states, totals, weeks
from penstock.bench.originals.series import taxi, unemployment
from penstock.bench.originals.world_cup import PARTS, RECORD, condensed, files, tally
from penstock.errors import BadInput

FRED = b"observation_date,LNU03000018\n1972-01-01,247\n1972-02-01,286\n"
NAB = b"timestamp,value\n2014-07-01 00:00:00,10844\n2014-07-01 00:30:00,8127\n"
SERIES = "/graph/fredgraph.csv"
FIRST = int(np.datetime64("1998-04-30T21:30", "s").astype(int))


class Site(ThreadingHTTPServer):
    """A host of made-up originals. A path has a body, or something that answers for it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.bodies: dict[str, bytes | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.at = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Who goes away in the middle is part of some tests."""


class Answer(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.bodies.get(urlsplit(self.path).path)
        if callable(body):
            body(self)
        else:
            status(404)(self) if body is None else whole(body)(self)

    def log_message(self, *about: object) -> None:
        """Tests are quiet."""


def whole(body: bytes, length: int | None = None, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(body)

    return answer


def status(code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(code)
        for name, value in headers.items():
            to.send_header(name, value)
        to.end_headers()

    return answer


def in_turn(*answers: Callable[[BaseHTTPRequestHandler], None]) -> Callable[[BaseHTTPRequestHandler], None]:
    left = iter(answers)
    return lambda to: next(left)(to)


def unmeasured(body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer that does not say how long it is."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.end_headers()
        to.wfile.write(body)

    return answer


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(downloading, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(downloading, "TIME_OUT", 5.0)
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        site.shutdown()
        thread.join()


def read(path: Path) -> list[list[str]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return list(csv.reader(io.StringIO(text)))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Bodies


def test_series_become_tables() -> None:
    assert unemployment(FRED).as_csv() == b"t,LNU03000018\n1972-01-01,247\n1972-02-01,286\n"
    assert unemployment(FRED.replace(b"observation_date", b"DATE")).labels == ["1972-01-01", "1972-02-01"]
    assert taxi(NAB).as_csv() == b"t,passengers\n2014-07-01T00:00:00,10844\n2014-07-01T00:30:00,8127\n"


@given(st.lists(st.integers(0, 2**53), min_size=1, max_size=30))
def test_a_series_keeps_every_count(counts: list[int]) -> None:
    body = "observation_date,LNU03000018\n" + "".join(f"{2000 + i}-01-01,{count}\n" for i, count in enumerate(counts))
    assert unemployment(body.encode()).counts.ravel().tolist() == counts


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>not now</html>",
        b"observation_date,LNU03000018\n",
        b"observation_date,OTHER\n1972-01-01,247\n",
        b"observation_date,LNU03000018\n1972-01-01,.\n",
        b"observation_date,LNU03000018\n1972-01-01,-1\n",
        b"observation_date,LNU03000018\n1972-01-01,1.5\n",
        b"observation_date,LNU03000018\n1972-01-01,nan\n",
        b"observation_date,LNU03000018\n1972-02-01,1\n1972-01-01,1\n",
        b"observation_date,LNU03000018\n1972-01-01,1,2\n",
        b"observation_date,LNU03000018\n1972-01-01,\xff\n",
    ],
)
def test_what_is_no_series_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="LNU03000018 of FRED"):
        unemployment(body)


def report(week: int, total: int | None, region: str = "nat", given: tuple[int | None, ...] = (1, 2, 3)) -> object:
    """As the API answers: the third group is one that is no longer collected."""
    patients = None if total is None else 10 * total + 1
    groups = dict(zip(("num_age_0", "num_age_1", "num_age_5"), given, strict=True))
    return {"region": region, "epiweek": week, "num_ili": total, "num_patients": patients, "num_age_2": None, **groups}


def answer(*reports: object, result: int = 1) -> bytes:
    return json.dumps({"result": result, "epidata": list(reports), "message": "success"}).encode()


def test_flu_by_weeks_and_ages() -> None:
    """In whatever order the weeks come; a week without patients was not collected."""
    empty = {"region": "nat", "epiweek": 199802, "num_ili": 0, "num_patients": 0}
    body = answer(report(199803, 10), report(199753, 7, given=(1, 2, 4)), empty, report(202242, 8))
    assert totals(body).as_csv() == b"t,ili_total\n1997-W53,7\n1998-W03,10\n"
    by_age = ages(body)
    assert tuple(by_age.bins) == AGES
    assert by_age.labels[:3] == ["0", "1", "2"]
    assert by_age.counts[:4].tolist() == [[1, 2, 0, 4], [0, 0, 0, 0], [0, 0, 0, 0], [1, 2, 4, 3]]
    assert len(by_age.counts) == len(weeks(199753, 202242))
    assert ages(answer(report(199740, None), report(199741, 6))).counts.tolist() == [[0, 0, 0, 0], [1, 2, 0, 3]]


def test_the_example_of_the_api_adds_up() -> None:
    """The six groups of week 1 of 2015; the last one is the oldest."""
    groups = {"num_age_0": 7160, "num_age_1": 9589, "num_age_3": 8072, "num_age_4": 3614, "num_age_5": 3048}
    body = answer({"region": "nat", "epiweek": 201501, "num_ili": 31483, "num_patients": 771835, **groups})
    assert ages(body).counts.tolist() == [[7160, 9589, 8072 + 3614, 3048]]


def test_flu_by_states() -> None:
    body = answer(report(201041, 5, "wy"), report(201040, 3, "ny_minus_jfk"), report(201040, None, "fl"))
    table = states(body)
    assert table.labels == ["0", "1"]
    column = list(table.bins).index
    assert len(table.bins) == len(STATES) == 55
    assert table.counts[0, column("New_York")] == 3
    assert table.counts[1, column("Wyoming")] == 5
    assert table.counts.sum() == 8


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[" * 10**5,
        b"[]",
        answer(),
        answer(result=-2),
        answer(report(199740, 10), result=2),
        answer(report(199853, 10)),
        answer(report(199740, -1)),
        answer(report(199740, 2**60)),
        answer("report"),
        answer({"region": "nat", "epiweek": "199740", "num_ili": 3}),
        answer(report(199740, 5)),  # the groups are more than the total
    ],
)
def test_what_is_no_report_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="fluview"):
        ages(body)
    with pytest.raises(BadInput, match="fluview"):
        states(body)


@given(st.integers(1991, 2097))
def test_the_first_week_of_a_year_has_the_fourth_of_january(year: int) -> None:
    """And the last is the one before the first of the next."""
    sundays = [date(each, 1, 4) - timedelta(days=date(each, 1, 4).isoweekday() % 7) for each in (year, year + 1)]
    number = (sundays[1] - sundays[0]).days // 7
    following = weeks(year * 100 + 1, (year + 1) * 100 + 1)
    assert following == [*range(year * 100 + 1, year * 100 + 1 + number), (year + 1) * 100 + 1]


PERSON = "45, Private, 183710, {}, 5, {}, Sales, Husband, White, {}, 0, 0, 40, {}, {}"


def test_people_are_coded() -> None:
    lines = [
        PERSON.format("9th", "Married-civ-spouse", "Male", "United-States", "<=50K"),
        PERSON.format("Preschool", "Married-spouse-absent", "Female", "Mexico", ">50K"),
        PERSON.format("Doctorate", "Widowed", "Female", "?", ">50K"),
        PERSON.format("Doctorate", "Widowed", "Female", "Cuba", ">50K").replace("45", "19"),
        "",
    ]
    assert people("\n".join(lines).encode()) == [(45, 1, 2, 1, 1, 1), (45, 0, 0, 0, 1, 2), (19, 0, 11, 0, 0, 0)]


def archive(**members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, text in members.items():
            packed.writestr(name.replace("_", "."), text)
    return file.getvalue()


@pytest.mark.parametrize("text", ["", "45, Private", PERSON.format("PhD", "Widowed", "Male", "Cuba", ">50K"), 'a"b"'])
def test_what_are_no_people_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="Adult"):
        people(text.encode())


@pytest.mark.parametrize("body", [b"", b"PK", archive(adult_names="about"), archive(adult_data="x" * 2**25)])
def test_what_is_no_archive_of_people_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="Adult"):
        unpacked(body)


Requests = list[tuple[int, int]]  # seconds after the first minute, and a page
REQUESTS = st.lists(st.tuples(st.integers(0, 4 * 3600), st.integers(0, 2**32 - 1) | st.integers(0, 3)), max_size=60)


def log(requests: Requests) -> bytes:
    records = np.zeros(len(requests), RECORD)
    records["time"] = [FIRST + second for second, _ in requests]
    records["page"] = [page for _, page in requests]
    return records.tobytes()


def test_a_record_is_twenty_bytes_with_the_time_first() -> None:
    assert log([(0, 7)]) == FIRST.to_bytes(4, "big") + bytes(4) + (7).to_bytes(4, "big") + bytes(8)


@given(st.lists(REQUESTS, max_size=5))
def test_all_requests_are_counted_once(tmp_path_factory: pytest.TempPathFactory, parts: list[Requests]) -> None:
    """However they are spread over parts: minutes from the first to the last, and the hours that are whole."""
    every: Requests = [(0, 1), (4 * 3600, 1), *(request for part in parts for request in part)]
    pieces = [condensed(io.BytesIO(gzip.compress(log(part)))) for part in [every[:2], *filter(None, parts)]]
    written = files(pieces)
    minutes = list(csv.reader(io.StringIO(gzip.decompress(written["worldcup98_minute.csv.gz"]).decode())))[1:]
    assert [minutes[0][0], minutes[-1][0], len(minutes)] == ["1998-04-30T21:30", "1998-05-01T01:30", 241]
    counted = Counter(second // 60 for second, _ in every)
    assert [int(count) for _, count in minutes] == [counted[minute] for minute in range(241)]

    hours = list(csv.reader(io.StringIO(written["worldcup98_hour.csv"].decode())))[1:]
    assert [label for label, _ in hours] == ["1998-04-30T22", "1998-04-30T23", "1998-05-01T00"]
    path = tmp_path_factory.mktemp("pages") / "worldcup98_pages.npz"
    path.write_bytes(written["worldcup98_pages.npz"])
    bins, rows = pages_by_hour(path)
    found = {(hour, int(bins[i])): row[i] for hour, row in enumerate(rows) for i in np.flatnonzero(row)}
    places = Counter(((second - 1800) // 3600, page) for second, page in every)
    assert found == {place: count for place, count in places.items() if 0 <= place[0] < 3}
    assert [int(count) for _, count in hours] == [sum(n for (at, _), n in found.items() if at == i) for i in range(3)]


def test_a_long_log_is_counted_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [(i % 7000, i % 11) for i in range(1000)]
    at_once = tally(io.BytesIO(log(requests)))
    monkeypatch.setattr("penstock.bench.originals.world_cup.RECORDS_AT_ONCE", 64)
    for one, other in zip(at_once, tally(io.BytesIO(log(requests))), strict=True):
        np.testing.assert_array_equal(one, other)
    assert at_once.requests.sum() == at_once.hits.sum() == 1000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not packed",
        gzip.compress(b""),
        gzip.compress(bytes(20)),  # of 1970
        gzip.compress(log([(0, 1)])[:-1]),
        gzip.compress(log([(10**8, 1)])),
        gzip.compress(log([(0, 1)] * 1000))[:-9],
    ],
    ids=[
        "nothing",
        "not packed",
        "no record",
        "of 1970",
        "half a record",
        "of years later",
        "torn",
    ],  # bodies hold a time
)
def test_what_is_no_log_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="World Cup"):
        condensed(io.BytesIO(body))


ARRAY = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<i8', 'fortran_order': False, 'shape': (0,), }".ljust(117) + b"\n"


def test_less_than_an_hour_is_refused() -> None:
    with pytest.raises(BadInput, match="World Cup"):
        files([condensed(io.BytesIO(gzip.compress(log([(0, 1), (600, 1)]))))])


@pytest.mark.parametrize("body", [None, b"", b"PK\3\4", ARRAY, archive(pages_npy="x"), archive(other="x")])
def test_what_are_no_pages_is_refused(tmp_path: Path, body: bytes | None) -> None:
    path = tmp_path / "pages.npz"
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(BadInput, match="fetch worldcup98 again"):
        pages_by_hour(path)


# Downloads


def bodies() -> dict[str, bytes | Callable[[BaseHTTPRequestHandler], None]]:
    """What is at the addresses of all originals, small."""

    def fluview(to: BaseHTTPRequestHandler) -> None:
        regions = parse_qs(urlsplit(to.path).query)["regions"][0].split(",")
        whole(answer(*(report(201040 + i, 9, region) for region in regions for i in (0, 1))))(to)

    person = PERSON.format("9th", "Married-civ-spouse", "Male", "United-States", "<=50K")
    logs = {f"/traces/WorldCup/{part}": gzip.compress(log([(60 * i, 1)])) for i, part in enumerate(PARTS)}
    return {
        SERIES: FRED,
        "/numenta/NAB/master/data/realKnownCause/nyc_taxi.csv": NAB,
        "/epidata/fluview/": fluview,
        "/static/public/2/adult.zip": archive(adult_data=person, adult_names="about"),
        **logs,
    }


@pytest.mark.parametrize("name", ORIGINALS)
def test_every_original_becomes_its_files(name: str, site: Site, tmp_path: Path) -> None:
    site.bodies, came = bodies(), list[int]()
    paths = fetch(name, tmp_path, at=site.at + "/", progress=came.append)
    assert [path.name for path in paths] == list(ORIGINALS[name].files)
    assert names(tmp_path) == sorted(ORIGINALS[name].files)
    assert len(site.asked) == len(ORIGINALS[name].addresses)
    assert sum(came) > 0
    for path in paths:
        if path.suffix != ".npz":
            header, *rows = read(path)
            assert len(header) >= 2
            assert rows
            assert all(cell.isdigit() for row in rows for cell in row[1:])


@pytest.mark.parametrize("original", ORIGINALS.values(), ids=lambda original: original.name)
def test_every_original_says_where_it_is_from(original: Original) -> None:
    assert ORIGINALS[original.name] is original
    for text in ("about", "licence", "credit"):
        assert getattr(original, text).endswith(".")
    assert all(address.startswith("https://") for address in original.addresses)


def test_an_unknown_original_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no public original.*Did you mean unemployment\?"):
        fetch("unemploiment", tmp_path)
    assert original_named("state_flu").files == ("state_flu.csv",)


def test_a_file_that_is_there_stays(site: Site, tmp_path: Path) -> None:
    site.bodies = bodies()
    path = tmp_path / "unemployment.csv"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="is there already"):
        fetch("unemployment", tmp_path, at=site.at)
    assert path.read_text(encoding="utf-8") == "mine"
    assert not site.asked
    assert fetch("unemployment", tmp_path, at=site.at, again=True) == [path]
    assert read(path)[1:] == [["1972-01-01", "247"], ["1972-02-01", "286"]]


def test_only_what_is_missing_is_written(site: Site, tmp_path: Path) -> None:
    site.bodies = bodies()
    (tmp_path / "flu_outpatient.csv").write_text("mine", encoding="utf-8")
    assert fetch("flu_outpatient", tmp_path, at=site.at) == [tmp_path / "flu_outpatient_age.csv"]
    assert (tmp_path / "flu_outpatient.csv").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("fault", [status(500), status(503), status(429), whole(FRED, len(FRED) + 1), lambda to: None])
def test_a_passing_fault_passes(fault: Callable[[BaseHTTPRequestHandler], None], site: Site, tmp_path: Path) -> None:
    site.bodies[SERIES] = in_turn(fault, fault, whole(FRED))
    (path,) = fetch("unemployment", tmp_path, at=site.at)
    assert len(site.asked) == 3
    assert read(path)[1] == ["1972-01-01", "247"]


def test_pauses_grow(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.undo()
    monkeypatch.setattr("time.sleep", slept.append)
    site.bodies[SERIES] = status(502)
    with pytest.raises(BadInput, match="error 502, however often"):
        fetch("unemployment", tmp_path, at=site.at)
    assert len(slept) >= 2
    assert slept == sorted(set(slept))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (status(404), "there is nothing at"),
        (status(410), "there is nothing at"),
        (status(403), "answers with error 403"),
        (status(500), "error 500, however often"),
        (whole(FRED[:-5], len(FRED)), "breaks off, however often"),
        (lambda to: None, "does not answer, however often"),
        (whole(b"<html>"), "is not the series"),
        (unmeasured(FRED[:-5]), "is not the series"),
        (whole(FRED, 10**9), "much larger"),
        (unmeasured(bytes(3 * 2**20)), "much larger"),
        (status(302, Location="ftp://127.0.0.1/file"), "leads to where nothing is fetched from"),
        (status(302, Location="file:///etc/hostname"), "leads to where nothing is fetched from"),
        (status(302, Location=SERIES), "leads to where nothing is fetched from"),  # to itself
    ],
)
def test_a_lasting_fault_leaves_nothing(
    fault: Callable[[BaseHTTPRequestHandler], None], said: str, site: Site, tmp_path: Path
) -> None:
    site.bodies[SERIES] = fault
    with pytest.raises(BadInput, match=said) as caught:
        fetch("unemployment", tmp_path, at=site.at)
    assert str(caught.value).count(". ") == 0
    assert names(tmp_path) == []


def test_an_answer_without_a_length_is_taken(site: Site, tmp_path: Path) -> None:
    site.bodies[SERIES] = unmeasured(FRED)
    assert len(read(*fetch("unemployment", tmp_path, at=site.at))) == 3


def test_a_redirect_within_the_web_is_followed(site: Site, tmp_path: Path) -> None:
    site.bodies |= {SERIES: status(301, Location=f"{site.at}/elsewhere"), "/elsewhere": FRED}
    assert len(read(*fetch("unemployment", tmp_path, at=site.at))) == 3


def test_a_host_that_goes_silent_is_given_up(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "TIME_OUT", 0.1)
    over = threading.Event()

    def silent(to: BaseHTTPRequestHandler) -> None:
        whole(FRED[:20], len(FRED))(to)
        to.wfile.flush()
        over.wait(5)

    site.bodies[SERIES] = silent
    with pytest.raises(BadInput, match="stops in the middle"):
        fetch("unemployment", tmp_path, at=site.at)
    over.set()
    assert names(tmp_path) == []


def test_no_network(tmp_path: Path, site: Site) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as closed:
        port = closed.server_port
    with pytest.raises(BadInput, match="look whether there is a network"):
        fetch("unemployment", tmp_path, at=f"http://127.0.0.1:{port}")
    assert names(tmp_path) == []


def test_no_folder(tmp_path: Path, site: Site) -> None:
    with pytest.raises(BadInput, match="there is no folder"):
        fetch("unemployment", tmp_path / "none", at=site.at)
    assert not site.asked


@pytest.mark.parametrize(
    ("code", "said"), [(errno.ENOSPC, "there is no room left"), (errno.EROFS, "cannot be written into")]
)
def test_no_room(code: int, said: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*about: object) -> None:
        raise OSError(code, "fault")

    site.bodies = bodies()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BadInput, match=said):
        fetch("unemployment", tmp_path, at=site.at)
    assert names(tmp_path) == []


def test_who_is_interrupted_goes_on(site: Site, tmp_path: Path) -> None:
    """Parts that have come are not asked for again, and nothing looks finished before it is."""
    site.bodies, came = bodies(), list[int]()

    def stop(size: int) -> None:
        came.append(size)
        if len(came) == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("worldcup98", tmp_path, at=site.at, progress=stop)
    assert not [name for name in names(tmp_path) if name.endswith((".csv", ".gz", ".npz"))]
    fetch("worldcup98", tmp_path, at=site.at)
    assert len(site.asked) == len(PARTS) + 1  # the one in hand came twice
    assert names(tmp_path) == sorted(ORIGINALS["worldcup98"].files)
    assert len(read(tmp_path / "worldcup98_minute.csv.gz")) == 1 + len(PARTS)


def test_a_bad_part_does_not_spoil_the_others(site: Site, tmp_path: Path) -> None:
    site.bodies = bodies()
    good = site.bodies["/traces/WorldCup/wc_day46_3.gz"]
    site.bodies["/traces/WorldCup/wc_day46_3.gz"] = b"bad"
    with pytest.raises(BadInput, match="World Cup"):
        fetch("worldcup98", tmp_path, at=site.at)
    asked = len(site.asked)
    site.bodies["/traces/WorldCup/wc_day46_3.gz"] = good
    fetch("worldcup98", tmp_path, at=site.at)
    assert len(site.asked) - asked == len(PARTS) - asked + 1


@pytest.mark.parametrize(
    "at", ["", "mirror", "ftp://host", "file:///etc", "http://", "http://a:b", "http://a/?q", "http://a b", "http://ä"]
)
def test_what_is_no_host_is_refused(at: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a host to fetch from"):
        fetch("unemployment", tmp_path, at=at)


def test_another_host_keeps_path_and_query() -> None:
    assert moved("https://a.org/b/c?d=1", None) == "https://a.org/b/c?d=1"
    assert moved("https://a.org/b/c?d=1", "http://m.org:80/x/") == "http://m.org:80/x/b/c?d=1"
    assert moved("https://a.org/b", "https://m.org") == "https://m.org/b"
