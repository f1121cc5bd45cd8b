"""Fluss' retention beside a definition that steps back one period at a time."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.lifetime.auto_partitions import FORMATS, earliest_kept, is_older, shown
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.options.values import period_form
from tests.options.test_options import layout

CASES = [  # of the documentation and tests of Fluss
    ("day", 2, "2024-09-13T23:00:00", "20240911"),
    ("day", 3, "2024-11-11T12:00:00", "20241108"),
    ("hour", 2, "2024-09-10T04:00:00", "2024091002"),
    ("month", 2, "2024-12-10T00:00:00", "202410"),
    ("quarter", 2, "2025-06-10T00:00:00", "20244"),
    ("year", 2, "2027-09-10T00:00:00", "2025"),
    ("day", -1, "2024-11-11T12:00:00", None),
    ("year", 5000, "2027-09-10T00:00:00", "0001"),
]


def options(unit: str, retention: int, zone: str = "UTC") -> TableOptions:
    named = {
        "table.auto-partition.enabled": "true",
        "table.auto-partition.time-unit": unit,
        "table.auto-partition.num-retention": str(retention),
        "table.auto-partition.time-zone": zone,
    }
    return parse(replace(layout(), options=named))


@pytest.mark.parametrize(("unit", "retention", "now", "earliest"), CASES)
def test_periods_before_this_one_are_kept(
    unit: str, retention: int, now: str, earliest: str | None
) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=timezone.utc)
    assert earliest_kept(options(unit, retention), at, FORMATS[unit]) == earliest


def before(at: datetime, unit: str) -> datetime:
    """A time in the period before that of a time: an hour before that begins."""
    while shown(at, FORMATS[unit]) == shown(at - timedelta(hours=1), FORMATS[unit]):
        at -= timedelta(hours=1)
    return at - timedelta(hours=1)


@given(
    unit=st.sampled_from(sorted(FORMATS)),
    at=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    count=st.integers(0, 3),
)
def test_the_earliest_is_found_by_steps_too(unit: str, at: datetime, count: int) -> None:
    found = earliest_kept(options(unit, count), at.replace(tzinfo=timezone.utc), FORMATS[unit])
    form, stepped = FORMATS[unit], at
    for _ in range(count):
        stepped = before(stepped, unit)
    assert found == shown(stepped, form)
    assert not is_older(found, found, form)
    assert is_older(shown(before(stepped, unit), form), found, form)


def test_the_zone_decides_which_day_it_is() -> None:
    at = datetime(2024, 9, 13, 23, tzinfo=timezone.utc)
    found = {
        zone: earliest_kept(options("day", 0, zone), at, "yyyyMMdd")
        for zone in ("UTC", "Asia/Tokyo", "-08:00", "+08:00")
    }
    assert found == {
        "UTC": "20240913",
        "Asia/Tokyo": "20240914",
        "-08:00": "20240913",
        "+08:00": "20240914",
    }


@pytest.mark.parametrize("text", [None, "", "0", "abcdefgh", "2024-01-01", "202401011"])
def test_values_that_name_no_period_stay(text: str | None) -> None:
    assert not is_older(text, "20240911", "yyyyMMdd")


@pytest.mark.parametrize("form", ["MMyyyy", "yyyyddMM", "yyyyx", "yyMM", "", "HH"])
def test_forms_out_of_order_are_refused(form: str) -> None:
    with pytest.raises(ValueError, match="the longest period first"):
        period_form(form)
