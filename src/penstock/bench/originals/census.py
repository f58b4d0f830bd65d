"""Answers to a census: the Adult data of UCI, coded as the census of Li et al. (2015), whose own data are not free.

The sizes of the attributes are the same, 96, 2, 12, 2, 2 and 3. Born in the United States stands for health insurance.
"""

from __future__ import annotations

import csv
import io
import zipfile
import zlib

from penstock.bench.originals.tables import as_csv, decoded, other_format, whole

WHAT = "the Adult data of UCI"
NAMES = ("age", "gender", "education", "native_us", "married", "income")
MEMBER = "adult.data"
LARGEST = 16 * 2**20  # bytes of the member, which has 4 million
FIELDS = 15
AGE, EDUCATION, MARITAL, SEX, COUNTRY, INCOME = 0, 3, 5, 9, 13, 14
ADULT = 20  # years; below them there is no income to speak of
UNKNOWN = "?"
LEVELS = (
    {"Preschool", "1st-4th"},
    {"5th-6th", "7th-8th"},
    {"9th"},
    {"10th"},
    {"11th", "12th"},
    {"HS-grad"},
    {"Some-college"},
    {"Assoc-voc"},
    {"Assoc-acdm"},
    {"Bachelors"},
    {"Masters"},
    {"Prof-school", "Doctorate"},
)
EDUCATIONS = {name: level for level, names in enumerate(LEVELS) for name in names}
SEXES = {"Female": 0, "Male": 1}
INCOMES = {"<=50K": 1, ">50K": 2}

Person = tuple[int, ...]


def unpacked(body: bytes) -> bytes:
    """The people in the archive that UCI hands out."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            if archive.getinfo(MEMBER).file_size > LARGEST:
                raise other_format(WHAT)
            return archive.read(MEMBER)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, zlib.error, EOFError):
        raise other_format(WHAT) from None


def people(body: bytes) -> list[Person]:
    """The codes of everybody of whom all is known.

    >>> line = b"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0"
    >>> people(line + b", 40, United-States, <=50K\\n")
    [(39, 1, 9, 1, 0, 1)]
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(decoded(body, WHAT)), skipinitialspace=True, strict=True) if row]
        coded = [_coded(row) for row in rows if UNKNOWN not in row]
    except (KeyError, IndexError, csv.Error):
        raise other_format(WHAT) from None
    if not coded:
        raise other_format(WHAT)
    return coded


def pool(body: bytes) -> bytes:
    """The file of codes."""
    return as_csv(NAMES, people(unpacked(body)))


def _coded(row: list[str]) -> Person:
    if len(row) != FIELDS:
        raise other_format(WHAT)
    age = whole(row[AGE], WHAT)
    income = INCOMES[row[INCOME]] if age >= ADULT else 0
    native, married = row[COUNTRY] == "United-States", row[MARITAL].startswith("Married")
    return age, SEXES[row[SEX]], EDUCATIONS[row[EDUCATION]], int(native), int(married), income
