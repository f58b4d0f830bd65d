"""The originals that anybody may download and use."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping

from penstock.bench.originals import census, flu, series, world_cup
from penstock.bench.originals.original import Original
from penstock.bench.originals.tables import Table
from penstock.errors import BadInput
from penstock.parameters import nearest

MEGABYTE = 2**20
FLUVIEW = "https://api.delphi.cmu.edu/epidata/fluview/"
OF_ILINET = (
    "Source: ILINet of the Centers for Disease Control and Prevention, through D. C. Farrow, L. C. Brooks, A. Rumack,"
    " R. J. Tibshirani and R. Rosenfeld, Delphi Epidata API, 2015."
)
OF_A_GOVERNMENT = "In the public domain, as a work of the United States government."


def _tables(**converters: Callable[[bytes], Table]) -> Callable[[Iterable[bytes]], dict[str, bytes]]:
    """CSV files, each made of the only body."""

    def made(pieces: Iterable[bytes]) -> dict[str, bytes]:
        (body,) = pieces
        return {f"{name}.csv": convert(body).as_csv() for name, convert in converters.items()}

    return made


def _pool(pieces: Iterable[bytes]) -> dict[str, bytes]:
    (body,) = pieces
    return {"census_pool.csv.gz": gzip.compress(census.pool(body), mtime=0)}


_ALL = (
    Original(
        name="unemployment",
        files=("unemployment.csv",),
        about="Black or African American people of 16 to 19 years without work in the United States, in thousands,"
        " by months from 1972 to 2023.",
        licence=OF_A_GOVERNMENT,
        credit="Source: U.S. Bureau of Labor Statistics, Unemployment Level, 16-19 Yrs., Black or African American"
        " (LNU03000018), from FRED, Federal Reserve Bank of St. Louis.",
        addresses=(
            f"https://fred.stlouisfed.org/graph/fredgraph.csv?id={series.UNEMPLOYED}&cosd=1972-01-01&coed=2023-10-01",
        ),
        largest=MEGABYTE,
        made=_tables(unemployment=series.unemployment),
    ),
    Original(
        name="nyc_taxi_30min",
        files=("nyc_taxi_30min.csv",),
        about="Passengers of taxis in New York City, by half hours from July 2014 to January 2015.",
        licence="The benchmark it is taken from is under the MIT licence.",
        credit="Source: Numenta Anomaly Benchmark (S. Ahmad, A. Lavin, S. Purdy and Z. Agha, 2017), of trip records of"
        " the New York City Taxi and Limousine Commission.",
        addresses=("https://raw.githubusercontent.com/numenta/NAB/master/data/realKnownCause/nyc_taxi.csv",),
        largest=4 * MEGABYTE,
        made=_tables(nyc_taxi_30min=series.taxi),
    ),
    Original(
        name="flu_outpatient",
        files=("flu_outpatient.csv", "flu_outpatient_age.csv"),
        about="Visits to doctors for flu-like illness in the United States, by weeks from 1997 to 2022; and by age,"
        " to 2023.",
        licence=OF_A_GOVERNMENT,
        credit=OF_ILINET,
        addresses=(f"{FLUVIEW}?regions={flu.NATION}&epiweeks=199740-202346",),
        largest=16 * MEGABYTE,
        made=_tables(flu_outpatient=flu.totals, flu_outpatient_age=flu.ages),
    ),
    Original(
        name="state_flu",
        files=("state_flu.csv",),
        about="Visits to doctors for flu-like illness in 55 parts of the United States, by weeks from 2010 to 2022.",
        licence=OF_A_GOVERNMENT,
        credit=OF_ILINET,
        addresses=(f"{FLUVIEW}?regions={','.join(flu.STATES)}&epiweeks=201040-202241",),
        largest=64 * MEGABYTE,
        made=_tables(state_flu=flu.states),
    ),
    Original(
        name="census_pool",
        files=("census_pool.csv.gz",),
        about="What 30,162 people in the United States answered to a census in 1994, six answers of each, as codes.",
        licence="Creative Commons Attribution 4.0 (CC BY 4.0).",
        credit="Source: B. Becker and R. Kohavi, Adult, UCI Machine Learning Repository, 1996,"
        " https://doi.org/10.24432/C5XW20; answers are merged and coded here.",
        addresses=("https://archive.ics.uci.edu/static/public/2/adult.zip",),
        largest=8 * MEGABYTE,
        made=_pool,
    ),
    Original(
        name="worldcup98",
        files=("worldcup98_minute.csv.gz", "worldcup98_hour.csv", "worldcup98_pages.npz"),
        about="Requests to the web site of the World Cup of 1998, by minutes, by hours, and by hours and pages;"
        " several gigabytes are downloaded, and can be continued.",
        licence="Free to use; who hands the logs on does so free of charge and with the copyright notice of"
        " Hewlett-Packard, 1997 to 1999.",
        credit="Source: M. Arlitt and T. Jin, 1998 World Cup Web Site Access Logs, August 1998, The Internet Traffic"
        " Archive; its authors ask to be sent what is published of it.",
        addresses=tuple(f"https://ita.ee.lbl.gov/traces/WorldCup/{part}" for part in world_cup.PARTS),
        largest=64 * MEGABYTE,
        made=world_cup.files,
        condense=world_cup.condensed,
    ),
)
ORIGINALS: Mapping[str, Original] = {original.name: original for original in _ALL}


def original_named(name: str) -> Original:
    """The original of this name."""
    if name not in ORIGINALS:
        raise BadInput(f"{name!r} is no public original; they are {', '.join(ORIGINALS)}.{nearest(name, ORIGINALS)}")
    return ORIGINALS[name]
