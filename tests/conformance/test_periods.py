"""Cases of auto-partitions, moved to another day: the same periods lie between."""

from datetime import datetime
from typing import Any

import pytest

from integration.conformance.periods import UNIT, as_rows


def case(unit: str, now: str, before: list[str], after: list[str]) -> dict[str, Any]:
    asked = {"now": now, "partitions_before": before, "partitions_after": after}
    return {"options": {UNIT: unit}, "auto_partition": asked, "commits": []}


@pytest.mark.parametrize(
    ("unit", "now", "before", "after", "moved", "kept"),
    [
        ("DAY", "2024-03-01", ["20240228", "20240229"], ["20240229"], ["20230630", "20230701"], 1),
        ("HOUR", "2024-01-01", ["2023123123"], ["2023123123"], ["2023070123"], 1),
        ("MONTH", "2024-12-10", ["202409", "202502"], ["202502"], ["202304", "202309"], 1),
        ("QUARTER", "2025-06-10", ["20243", "20261"], ["20261"], ["20224", "20242"], 1),
        ("YEAR", "2027-09-10", ["2024", "2029"], [], ["2020", "2025"], 0),
    ],
)
def test_periods_move_together(
    unit: str, now: str, before: list[str], after: list[str], moved: list[str], kept: int
) -> None:
    found = as_rows(case(unit, now, before, after), datetime(2023, 7, 2))
    assert [change["row"][0] for change in found["commits"][0]] == moved
    assert [row[0] for row in found["expect"]] == moved[len(moved) - kept :]
    assert found["options"]["write-only"] == "false"
