"""Times in texts, by patterns of Java; integration/upkeep/test_partitions.py asks Java itself."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.types.java_times import pattern, read_leniently

FORMS = {
    "yyyyMMdd": "%Y%m%d",
    "yyyy-MM-dd": "%Y-%m-%d",
    "yyyyMMddHH": "%Y%m%d%H",
    "uuuu/MM/dd HH:mm:ss": "%Y/%m/%d %H:%M:%S",
    "dd.MM.yyyy'T'HHmm": "%d.%m.%YT%H%M",
    "yyyy-MM-dd HH:mm:ss.SSSSSS": "%Y-%m-%d %H:%M:%S.%f",
    "'day='yyMMdd": "day=%y%m%d",
}
DAYS = st.datetimes(datetime(2000, 1, 1), datetime(2068, 12, 31))


@given(at=DAYS, form=st.sampled_from(sorted(FORMS)))
def test_what_is_written_by_a_pattern_is_read_by_it(at: datetime, form: str) -> None:
    text = at.strftime(FORMS[form])
    assert pattern(form).read(text) == datetime.strptime(text, FORMS[form])
    assert pattern(form).read(f"{text}x") is None
    assert pattern(form).read(text[1:]) is None


@pytest.mark.parametrize(
    ("form", "text", "found"),
    [
        ("yyyyMMdd", "20240231", datetime(2024, 2, 29)),
        ("yyyyMMdd", "20240431", datetime(2024, 4, 30)),
        ("yyyyMMdd", "99991231", datetime(9999, 12, 31)),
        ("yyyyMMdd", "20241301", None),
        ("yyyyMMdd", "00000101", None),
        ("yyyyMM", "202401", None),
        ("yyyyMMddHH", "2024010124", datetime(2024, 1, 2)),
        ("yyyyMMddHH", "2024010125", None),
        ("yyyy-M-d", "2024-1-9", datetime(2024, 1, 9)),
        ("yyyy-MM-dd[ HH:mm]", "2024-01-09", datetime(2024, 1, 9)),
        ("yyyy-MM-dd[ HH:mm]", "2024-01-09 07:30", datetime(2024, 1, 9, 7, 30)),
        ("yyyy-MM-dd mm", "2024-01-09 30", datetime(2024, 1, 9)),
    ],
)
def test_days_that_are_not(form: str, text: str, found: datetime | None) -> None:
    assert pattern(form).read(text) == found


@pytest.mark.parametrize(
    "form", ["yyyy-MMM-dd", "EEE", "YYYY", "yyyyMMddMM", "yyyy-MM-dd]", "#", "hh"]
)
def test_other_patterns_are_refused(form: str) -> None:
    with pytest.raises(ValueError, match=r"as numbers|pattern of dates|with a"):
        pattern(form)


@given(at=DAYS, days=st.integers(0, 68), hours=st.integers(0, 75))
def test_the_usual_form_counts_on(at: datetime, days: int, hours: int) -> None:
    first = datetime(at.year, at.month, 1)
    text = f"{at.year}-{at.month}-{days + 1} {hours}:{at.minute}:{at.second}"
    more = timedelta(days=days, hours=hours, minutes=at.minute, seconds=at.second)
    assert read_leniently(text) == first + more
    assert read_leniently(f"{at:%Y-%m-%d}") == datetime(at.year, at.month, at.day)
    assert read_leniently(f"{at.year}-{at.month + 12}-1") == datetime(at.year + 1, at.month, 1)


@pytest.mark.parametrize(
    "text", ["", "x", "2024-01", "2024-01-01 10", "20240101", "0-1-1", "99999-1-1"]
)
def test_texts_that_are_no_time(text: str) -> None:
    assert read_leniently(text) is None
