"""Automatic tags, by a clock that tests move: random commits against Paimon's rule, snapshot by
snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

import keyfold
from keyfold import Table
from keyfold.storage.history import tags
from keyfold.storage.maintenance import automatic

PERIODS = {
    "daily": timedelta(days=1), "hourly": timedelta(hours=1), "two-hours": timedelta(hours=2)
}  # fmt: skip
GAPS = [timedelta(minutes=m) for m in (1, 20, 59, 61, 119, 121, 400, 24 * 60, 60 * 60)]
FORMATS = {
    ("daily", "with_dashes"): "%Y-%m-%d",
    ("daily", "without_dashes"): "%Y%m%d",
    ("hourly", "with_dashes"): "%Y-%m-%d %H",
    ("hourly", "without_dashes"): "%Y%m%d %H",
    ("hourly", "without_dashes_and_spaces"): "%Y%m%d%H",
    ("two-hours", "without_dashes"): "%Y-%m-%d %H",
}
Move = Callable[[datetime], None]


@pytest.fixture(params=["UTC", "Asia/Kolkata"])
def move(request: pytest.FixtureRequest) -> Iterator[Move]:
    """Sets the clock of this process, in two zones, to a local time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield lambda to: patch.setattr(time, "time", to.timestamp)
    time.tzset()


def made(folder: Path, **options: str) -> Table:
    named = {f"tag.{name.replace('_', '-')}": value for name, value in options.items()}
    named |= {"tag.automatic-creation": "process-time", "bucket": "1", "write-only": "false"}
    named |= {"num-sorted-run.compaction-trigger": "100", "snapshot.num-retained.min": "1000"}
    named |= {"snapshot.expire.execution-mode": "sync"}
    catalog = keyfold.connect(folder, threads=1)
    return catalog.create_table("t", {"k": "INT"}, ["k"], options=named)


def tags_of(table: Table) -> dict[str, int]:
    return {tag.name: tag.snapshot.id for tag in tags.all_of(table._load())}


class Rule:
    """The tags that there must be, by Paimon's rule for the snapshots one after the other."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.period = PERIODS[options["creation_period"]]
        self.format = FORMATS[options["creation_period"], options["period_formatter"]]
        self.delay = timedelta(minutes=int(options["creation_delay"].split()[0]))
        self.completes = options["automatic_completion"] == "true"
        self.most = int(options["num_retained_max"])
        self.tags: dict[str, int] = {}
        self.next: datetime | None = None

    def commit(self, number: int, at: datetime) -> None:
        if self.next is not None and at - self.delay < self.next + self.period:
            return
        this = at - (at - datetime(1970, 1, 1)) % self.period - self.period
        if self.completes and self.next is not None:
            this = self.next
        self.tags[this.strftime(self.format)] = number
        self.next = this + self.period
        self.tags = dict(list(self.tags.items())[-self.most :])


@pytest.mark.parametrize(("period", "form"), FORMATS)
def test_random_commits(tmp_path: Path, move: Move, period: str, form: str, seed: int) -> None:
    draw = Random(f"{seed} {period} {form}")
    options = {
        "creation_period": period,
        "period_formatter": form,
        "creation_delay": draw.choice(["0 min", "10 min", "50 min"]),
        "automatic_completion": draw.choice(["true", "false"]),
        "num_retained_max": draw.choice(["2", "1000"]),
    }
    rule, at = Rule(options), datetime(2026, 2, 27, 23, 50)
    move(at)
    table = made(tmp_path, **options)
    for number in range(1, 11):
        at += draw.choice(GAPS)
        move(at)
        assert table.upsert([{"k": number}]) == number
        rule.commit(number, at)
        assert tags_of(table) == rule.tags, (at, options)


def test_tags_go_when_their_time_is_over(tmp_path: Path, move: Move) -> None:
    at = datetime(2026, 2, 27, 12)
    move(at)
    table = made(tmp_path, default_time_retained="36 h")
    found = []
    for day in range(4):
        move(at + timedelta(days=day))
        table.upsert([{"k": day}])
        found.append(sorted(tags_of(table)))
    days = ["2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01"]
    assert found == [days[:1], days[:2], days[1:3], days[2:]]


def test_tags_that_users_made_do_not_count(tmp_path: Path, move: Move) -> None:
    move(datetime(2026, 2, 27, 12))
    table = made(tmp_path, num_retained_max="1")
    table.upsert([{"k": 0}])
    table.tags.create("mine", 1)
    for day in (28, 29):
        move(datetime(2026, 2, 27, 12) + timedelta(days=day - 27))
        table.upsert([{"k": day}])
    assert sorted(table.tags.names()) == ["2026-02-28", "mine"]


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (
            {"creation_period": "hourly", "period_formatter": "without_dashes"},
            {"tag.period-formatter": "with_dashes"},
            ["20260227 11", "20260227 12", "2026-02-27 13", "2026-02-27 14"],
        ),
        (
            {"creation_period": "hourly"},
            {"tag.creation-period": "daily"},
            ["2026-02-27 11", "2026-02-27 12", "2026-02-27", "2026-02-28"],
        ),
    ],
)
def test_names_of_before_leave_in_their_turn(
    tmp_path: Path, move: Move, before: dict[str, str], after: dict[str, str], names: list[str]
) -> None:
    at = datetime(2026, 2, 27, 12)
    move(at)
    table = made(tmp_path, **before, num_retained_max="2")
    step = timedelta(days=1) if "tag.creation-period" in after else timedelta(hours=1)
    table.upsert([{"k": 0}])
    move(at + timedelta(hours=1))
    table.upsert([{"k": 1}])
    assert sorted(tags_of(table)) == names[:2]
    table.tags.create("mine", 1)
    table.alter(options=after)
    for number in (1, 2):
        move(at + timedelta(hours=1) + number * step)
        table.upsert([{"k": number}])
        kept = names[len(names) - 4 + number :][:2]
        assert sorted({*tags_of(table)} - {"mine"}) == sorted(kept)
        earlier = automatic.previous(table._load(), kept[1])
        assert earlier is not None
        assert earlier.name == kept[0]
