"""Cases of auto-partitions as cases of rows: each partition that is there before holds one, and now
is the time of the case, so all periods move as far as that is from it. Partitions that Fluss makes
ahead hold no rows, and are none here.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone

from integration.conformance.case import Raw

UNIT = "table.auto-partition.time-unit"


def _day(text: str) -> date:
    return date(int(text[:4]), int(text[4:6]), int(text[6:8]))


def _by_month(of_year: int, width: int) -> tuple[Callable[[str], int], Callable[[int], str]]:
    """The number of a period of which a year has so many, and the text of such a number."""

    def number(text: str) -> int:
        return int(text[:4]) * of_year + int(text[4:] or 1) - 1

    def text(number: int) -> str:
        year, place = divmod(number, of_year)
        return f"{year:04}" + (f"{place + 1:0{width}}" if width else "")

    return number, text


NUMBERS: Mapping[str, tuple[Callable[[str], int], Callable[[int], str]]] = {
    "HOUR": (
        lambda text: _day(text).toordinal() * 24 + int(text[8:]),
        lambda n: f"{date.fromordinal(n // 24):%Y%m%d}{n % 24:02}",
    ),
    "DAY": (lambda text: _day(text).toordinal(), lambda n: f"{date.fromordinal(n):%Y%m%d}"),
    "MONTH": _by_month(12, 2),
    "QUARTER": _by_month(4, 1),
    "YEAR": _by_month(1, 0),
}


def as_rows(raw: Raw, now: datetime | None = None) -> Raw:
    """The case with a row for each partition, of which those remain that Fluss keeps."""
    asked, unit = raw["auto_partition"], raw["options"][UNIT]
    number, text = NUMBERS[unit]
    then = number(_period(unit, datetime.fromisoformat(asked["now"])))
    moved = number(_period(unit, now or datetime.now(timezone.utc))) - then
    before = [text(number(one) + moved) for one in asked["partitions_before"]]
    after = {text(number(one) + moved) for one in asked["partitions_after"]}
    own = {"keyfold.partition.old-writes": "accept", "write-only": "false"}
    return {
        **raw,
        "options": raw["options"] | own,
        "commits": [[{"kind": "+I", "row": [one, 1, 1]} for one in before]],
        "expect": [[one, 1, 1] for one in before if one in after],
    }


def _period(unit: str, at: datetime) -> str:
    quarter = f"{at.year:04}{(at.month + 2) // 3}"
    forms = {"HOUR": "%Y%m%d%H", "DAY": "%Y%m%d", "MONTH": "%Y%m", "YEAR": "%Y"}
    return quarter if unit == "QUARTER" else at.strftime(forms[unit])
