"""The table of types without parts: the facts of each by which the other rooms treat its values.

A type is a line here, by its name in Paimon. Code that treats types of one family alike asks for
the family; what differs between its members is a field. Values have three forms: Arrow's in memory,
those of manifests (`literals`), and those of Spark's literals. Below it are only texts of Java's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from keyfold.types import java_text

InFolder = Callable[[Any, int, bool], str]

MAX_LENGTH = 2147483647
NANOS, MICROS, MILLIS = 9, 6, 3
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONE = r"(Z|[-+](0[0-9]|1[0-7]):[0-5][0-9])"
_WHOLE = "-?[0-9]{1,19}"
_FLOATING = r"-?[0-9]{1,100}(\.[0-9]{1,100})?([eE][-+]?[0-9]{1,2})?"


class Family(Enum):
    """Types that the same code converts, compares and shows."""

    BOOLEAN = "true and false"
    INTEGER = "whole numbers"
    FLOATING = "floating numbers"
    DECIMAL = "decimals"
    TEXT = "texts"
    BINARY = "bytes"
    DATE = "days"
    TIMESTAMP = "points in time"
    TIME = "times of day"


class Bound(Enum):
    """How the least and greatest value of Parquet's statistics become a manifest's values."""

    UNUSED = "they are left alone"
    SAME = "they are the values"
    TEXT = "bytes of UTF-8, which other writers may have cut"
    UNSCALED = "digits without a point"
    TIME = "numbers in the unit that the column names"
    FLOATING = "numbers without NaN, the greatest of all"


def _folder(text: Callable[[Any], str]) -> InFolder:
    """Names of folders that are those texts, whatever the column's digits."""
    return lambda value, _digits, _is_legacy: text(value)


_PLAIN = _folder(str)


@dataclass(frozen=True)
class TypeFacts:
    """The facts of one type. `spark`, `sql` and `paimon` are its texts in Spark's JSON, in Spark's
    SQL and in Paimon's schemas, where {length} and {scale} stand for its own.
    """

    name: str
    family: Family
    spark: str
    sql: str
    paimon: str
    arrow: pa.DataType | None  # in memory; that of DECIMAL is made of its digits
    bound: Bound
    word: str = ""  # how a value is packed into a word of Paimon's rows, if it is a number there
    takes: str = ""  # the values of Python that it takes, in words
    written: str = ""  # how a text of it looks, in words
    usual: str = ""  # the texts that Arrow reads alike
    synonyms: tuple[str, ...] = ()  # other names in SQL
    length: int | None = None  # or precision, if none is named; None: it has none
    sparks_length: int | None = None  # the same in Spark, if it is another one
    sparks_units: int = 1  # of a literal of Spark that are one of a manifest
    most: int = MAX_LENGTH  # the greatest length or precision that is stored
    most_cut: int = 0  # the greatest of other writers whose values are read, cut to `most`
    why: str = ""  # the reason of it
    bits: int = 0  # of a whole number
    digits: int | None = None  # of the greatest whole number
    is_exact: bool = True  # equal in Spark means equal here
    unpartitioned: str = ""  # why it names no folder of a partition
    in_folder: InFolder = _PLAIN  # how it names one: by value, digits, whether in the old way
    iso: Callable[[int], str] | None = None  # a manifest's number as metadata tables show it
    short: pa.DataType | None = None  # in files, if no more digits than of milliseconds are stored
    hive: str = ""  # in a Hive Metastore, if it is not `sql` in lower case


_NUMBER = "a number within its range, and whole numbers only if it holds them exactly"
_SPECIAL = "a number within its range, NaN, Infinity or -Infinity"
_BASE64 = "bytes in base64"
_SPARKS_DIGITS = f"Spark keeps {MICROS} digits"
_BYTES_IN_PATHS = "Paimon names its folder by a text that depends on the JVM, not on the bytes"
_FLOATS_IN_PATHS = "equal numbers, as 0.0 and -0.0, would have two folders"


def _whole(name: str, spark: str, arrow: pa.DataType, word: str, digits: int) -> TypeFacts:
    most = 1 << arrow.bit_width - 1
    takes = f"a whole number from {-most} to {most - 1}"
    return TypeFacts(
        name, Family.INTEGER, spark, name, name, arrow, Bound.SAME, word,
        takes, f"{takes}, without a point", _WHOLE,
        synonyms=("INTEGER",) if name == "INT" else (), bits=arrow.bit_width, digits=digits,
    )  # fmt: skip


def _floating(
    name: str, arrow: pa.DataType, word: str, bits: int, synonyms: tuple[str, ...]
) -> TypeFacts:
    return TypeFacts(
        name, Family.FLOATING, name.lower(), name, name, arrow, Bound.FLOATING, word,
        _NUMBER, _SPECIAL, _FLOATING, synonyms,
        is_exact=False, unpartitioned=_FLOATS_IN_PATHS,
        in_folder=_folder(lambda value: java_text.floating(value, bits)),
    )  # fmt: skip


def _text(name: str, bound: Bound, length: int | None = None) -> TypeFacts:
    sql = f"{name}({{length}})" if length else name
    words = "a text of at most {length} characters" if length else "a text"
    return TypeFacts(
        name, Family.TEXT, sql.lower(), sql, sql, pa.utf8(), bound,
        takes=words, written=words, is_exact=name != "CHAR", length=length,
    )  # fmt: skip


def _binary(name: str, bound: Bound, length: int | None = None) -> TypeFacts:
    paimon = f"{name}({{length}})" if length else name
    sql = "BINARY" if name == "BYTES" else name
    return TypeFacts(
        name, Family.BINARY, "binary", sql, paimon, pa.binary(), bound,
        takes="bytes", written=_BASE64, unpartitioned=_BYTES_IN_PATHS, length=length,
        hive="binary",
    )  # fmt: skip


def _timestamp(name: str, spark: str, paimon: str, zone: str | None) -> TypeFacts:
    is_local = zone is None
    behind = "" if is_local else " or 2026-01-31T22:59:59+01:00"
    return TypeFacts(
        name, Family.TIMESTAMP, spark, spark.upper(), paimon, pa.timestamp("us", zone), Bound.TIME,
        takes="a time in microseconds whose offset, if it has one, is that of UTC, or a date"
        if is_local
        else "a time in microseconds, or a date; without an offset it is in UTC",
        written=f"a time such as 2026-01-31 23:59:59.123456{behind or ' without an offset'}",
        usual=f"{_DATE}{_CLOCK}{'' if is_local else _ZONE}",
        length=MICROS, most=MICROS, most_cut=NANOS, why=_SPARKS_DIGITS,
        in_folder=java_text.folder_time, iso=java_text.iso_time, short=pa.timestamp("ms", zone),
        hive="timestamp",
    )  # fmt: skip


_ALL = (
    TypeFacts(
        "BOOLEAN", Family.BOOLEAN, "boolean", "BOOLEAN", "BOOLEAN", pa.bool_(), Bound.SAME, "<?",
        "True or False", "true or false, yes or no, 1 or 0", synonyms=("BOOL",),
        in_folder=_folder(lambda value: "true" if value else "false"),
    ),
    _whole("TINYINT", "byte", pa.int8(), "<b", 3),
    _whole("SMALLINT", "short", pa.int16(), "<h", 5),
    _whole("INT", "integer", pa.int32(), "<i", 10),
    _whole("BIGINT", "long", pa.int64(), "<q", 19),
    _floating("FLOAT", pa.float32(), "<f", java_text.FLOAT_BITS, ("REAL",)),
    _floating("DOUBLE", pa.float64(), "<d", java_text.DOUBLE_BITS, ()),
    TypeFacts(
        "DECIMAL", Family.DECIMAL, "decimal({length},{scale})", "DECIMAL({length},{scale})",
        "DECIMAL({length}, {scale})", None, Bound.UNSCALED,
        takes="a number with at most {whole} digits before the point and {scale} behind it, where "
        "floating numbers are rounded",
        written="a number with at most {whole} digits before the point, {scale} behind it",
        synonyms=("DEC", "NUMERIC"), length=10, most=38, in_folder=_folder("{:f}".format),
    ),
    _text("STRING", Bound.TEXT),
    _text("CHAR", Bound.UNUSED, 1),
    _text("VARCHAR", Bound.TEXT, 1),
    _binary("BYTES", Bound.SAME),
    _binary("BINARY", Bound.UNUSED, 1),
    _binary("VARBINARY", Bound.SAME, 1),
    TypeFacts(
        "DATE", Family.DATE, "date", "DATE", "DATE", pa.date32(), Bound.SAME, "<i",
        "a date, or a time at midnight in UTC", "a date such as 2026-01-31", _DATE,
        in_folder=java_text.folder_date, iso=java_text.iso_date,
    ),
    TypeFacts(
        "TIME", Family.TIME, "time({length})", "TIME({length})", "TIME({length})", pa.time64("ns"),
        Bound.TIME, "<i", "a time of day with {length} digits behind the second, without an offset",
        "a time of day such as 23:59:59.123, with {length} digits behind the second",
        length=0, sparks_length=MICROS, most=MILLIS, sparks_units=1_000_000,
        why="Paimon stores milliseconds, so that a column has 3 digits at most, as TIME(3)",
        unpartitioned="Paimon's connectors have no text of it for a folder",
        iso=java_text.iso_clock, short=pa.time32("ms"), hive="string",  # Hive 2 has no other
    ),
    _timestamp("TIMESTAMP", "timestamp_ntz", "TIMESTAMP({length})", None),
    _timestamp(
        "TIMESTAMP_LTZ", "timestamp", "TIMESTAMP({length}) WITH LOCAL TIME ZONE", "UTC"
    ),
)  # fmt: skip
TYPES = {facts.name: facts for facts in _ALL}


def of_family(*families: Family) -> tuple[str, ...]:
    """The names of the types of these families."""
    return tuple(name for name, facts in TYPES.items() if facts.family in families)


INTEGERS = {name: TYPES[name].bits for name in of_family(Family.INTEGER)}
FLOATING = of_family(Family.FLOATING)
TEXTS = of_family(Family.TEXT)
BINARIES = of_family(Family.BINARY)
TIMES = of_family(Family.TIMESTAMP)


def unit_of(kind: pa.DataType) -> pa.DataType | None:
    """The Arrow type whose numbers manifests hold in place of values of an Arrow type: days of a
    date, microseconds of a timestamp, milliseconds of a day. None if they hold values.
    """
    if pa.types.is_time(kind):
        return pa.time32("ms")
    if pa.types.is_date32(kind):
        return kind
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else None


def numbers_of(unit: pa.DataType) -> pa.DataType:
    """The type of these numbers."""
    return pa.int32() if unit.bit_width == 32 else pa.int64()
