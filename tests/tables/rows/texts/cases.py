"""Texts of files, and the value that each is of a type, or who refuses it."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any, Final

import numpy as np

REFUSED: Final = "refused by both"
NARROWER: Final = "refused here, changed by Spark"
UTC = dt.timezone.utc
DAY, NOON = dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12)
Case = tuple[str, str, Any]


def _of(kinds: str, **cases: Any) -> list[Case]:
    return [(kind, text, value) for kind in kinds.split("|") for text, value in cases.items()]


CASES: list[Case] = [
    *_of("BOOLEAN", **{"true": True, "T": True, "yes": True, "y": True, "1": True, " TRUE ": True}),
    *_of("BOOLEAN", **{"False": False, "f": False, "no": False, "N": False, "0": False}),
    *_of("BOOLEAN", **{"": REFUSED, "2": REFUSED, "on": REFUSED}),
    *_of("TINYINT|INT|BIGINT", **{"7": 7, "+7": 7, "-7": -7, "007": 7, " 7\t": 7, "-0": 0}),
    *_of("TINYINT|INT|BIGINT", **{"1.0": REFUSED, "1e3": REFUSED, "": REFUSED, "1_0": REFUSED}),
    *_of(
        "TINYINT|INT|BIGINT", **{"0x1f": REFUSED, "7 7": REFUSED, "\u0667": REFUSED, "-": REFUSED}
    ),
    *_of("TINYINT", **{"127": 127, "128": REFUSED, "-128": -128, "-129": REFUSED}),
    *_of("BIGINT", **{"9007199254740993": 9007199254740993, "9223372036854775807": 2**63 - 1}),
    *_of("BIGINT", **{"9223372036854775808": REFUSED, "-9223372036854775808": -(2**63)}),
    *_of("BIGINT", **{"1" * 30: REFUSED, "0" * 30 + "1": 1}),
    *_of(
        "DOUBLE|FLOAT", **{"1.5": 1.5, "+1.5": 1.5, ".5": 0.5, "5.": 5.0, "-0": -0.0, "1e3": 1000.0}
    ),
    *_of("DOUBLE|FLOAT", **{" 1.5 ": 1.5, "1E-3": 1e-3, "0.1": 0.1, "1e-400": 0.0}),
    *_of(
        "DOUBLE|FLOAT",
        **{"NaN": math.nan, "nan": math.nan, "Infinity": math.inf, "-inf": -math.inf},
    ),
    *_of(
        "DOUBLE|FLOAT", **{"": REFUSED, "1,5": REFUSED, "e3": REFUSED, "x": REFUSED, ".": REFUSED}
    ),
    *_of("DOUBLE|FLOAT", **{"1e400": NARROWER, "1.5d": NARROWER, "0x1p3": NARROWER}),
    *_of("FLOAT", **{"1e39": NARROWER, "16777217": 16777216.0}),
    *_of("FLOAT", **{"1.00000017881393432617187499": 1.0000001192092896}),  # not by way of a double
    *_of(
        "DOUBLE",
        **{
            "9007199254740993": 9007199254740992.0,
            "1.7976931348623157e308": 1.7976931348623157e308,
        },
    ),
    *_of("DECIMAL(20,2)", **{"12345678901234567.89": Decimal("12345678901234567.89")}),
    *_of("DECIMAL(20,2)", **{"0.29": Decimal("0.29"), "1.5": Decimal("1.50"), " +1 ": Decimal(1)}),
    *_of(
        "DECIMAL(20,2)",
        **{"1.500": Decimal("1.50"), "15e-1": Decimal("1.50"), "1e3": Decimal(1000)},
    ),
    *_of(
        "DECIMAL(20,2)",
        **{".5": Decimal("0.5"), "5.": Decimal(5), "-0.00": Decimal(0), "0e9": Decimal(0)},
    ),
    *_of("DECIMAL(20,2)", **{"1.005": NARROWER, "1.001": NARROWER, "1e-9": NARROWER}),
    *_of("DECIMAL(20,2)", **{"1e18": REFUSED, "NaN": REFUSED, "": REFUSED, "1,5": REFUSED}),
    *_of("DECIMAL(2,2)", **{"0.25": Decimal("0.25"), "1": REFUSED, "-.99": Decimal("-0.99")}),
    *_of("DECIMAL(38,0)", **{"9" * 38: Decimal("9" * 38), "1" + "0" * 38: REFUSED}),
    *_of(
        "STRING", **{"007": "007", "true": "true", "2026-01-01": "2026-01-01", " a ": " a ", "": ""}
    ),
    *_of("DATE", **{"2026-01-31": DAY, "2026-1-31": DAY, " 2026-01-31 ": DAY, "+2026-01-31": DAY}),
    *_of("DATE", **{"0001-01-01": dt.date(1, 1, 1), "9999-12-31": dt.date(9999, 12, 31)}),
    *_of(
        "DATE",
        **{
            "10000-01-01": np.datetime64("10000-01-01"),
            "-0044-03-15": np.datetime64("-0044-03-15"),
        },
    ),
    *_of(
        "DATE", **{"2024-02-29": dt.date(2024, 2, 29), "2026-02-29": REFUSED, "2026-13-01": REFUSED}
    ),
    *_of("DATE", **{"": REFUSED, "31.01.2026": REFUSED, "26-01-31": REFUSED, "20260131": REFUSED}),
    *_of("DATE", **{"2026": NARROWER, "2026-01": NARROWER, "2026-01-31T12:00:00": NARROWER}),
    *_of("TIMESTAMP", **{"2026-01-31 12:00:00": NOON.replace(tzinfo=UTC)}),
    *_of("TIMESTAMP", **{"2026-01-31T12:00:00Z": NOON.replace(tzinfo=UTC)}),
    *_of("TIMESTAMP", **{"2026-01-31 13:00:00+01:00": NOON.replace(tzinfo=UTC)}),
    *_of(
        "TIMESTAMP",
        **{
            "2026-01-31 6:30:0-05:30": NOON.replace(tzinfo=UTC),
            "2026-01-31 6:30:0-0530": NOON.replace(tzinfo=UTC),
        },
    ),
    *_of("TIMESTAMP", **{"2026-01-31 14:0:0 UTC+02:00": NOON.replace(tzinfo=UTC)}),
    *_of("TIMESTAMP", **{"2026-01-31 12:00:00.1": NOON.replace(microsecond=100_000, tzinfo=UTC)}),
    *_of(
        "TIMESTAMP",
        **{"2026-01-31 12:00:00.123456000": NOON.replace(microsecond=123456, tzinfo=UTC)},
    ),
    *_of("TIMESTAMP", **{"2026-01-31 12:00Z": REFUSED}),
    *_of("TIMESTAMP", **{"2026-01-31": dt.datetime(2026, 1, 31, tzinfo=UTC)}),
    *_of("TIMESTAMP", **{"2026-01-31 12:00:00.1234567": NARROWER, "2026-01-31 12": NARROWER}),
    *_of("TIMESTAMP", **{"2026-01-31 12:00:00 Europe/Paris": NARROWER, "2026": NARROWER}),
    *_of(
        "TIMESTAMP|TIMESTAMP_NTZ",
        **{"2026-01-31 24:00:00": REFUSED, "2026-01-31 12:60:00": REFUSED},
    ),
    *_of(
        "TIMESTAMP|TIMESTAMP_NTZ",
        **{"": REFUSED, "soon": REFUSED, "2026-01-31 12:00:00+19:00": REFUSED},
    ),
    *_of("TIMESTAMP_NTZ", **{"2026-01-31 12:00:00": NOON, "2026-01-31T12:00": NOON}),
    *_of("TIMESTAMP_NTZ", **{"2026-01-31T12:00:00Z": NOON, "2026-01-31T12:00:00+01:00": NARROWER}),
]
