"""How buckets stand, and what is said about it: made-up files with known sizes, levels and keys."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from keyfold.compact.health import Health, table_health
from keyfold.options.parsing import parse
from keyfold.storage.metadata.entries import LiveFile, RowShapes
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout
from tests.option_names import option_names

MIB = 1 << 20
NUMBERS = itertools.count(1)
LAYOUT = TableLayout(
    "c.n.t",
    "/w",
    0,
    (Column(0, "k", paimon_types.from_paimon("BIGINT NOT NULL")),),
    ("k",),
    (),
    {"bucket": "2"},
)
SHAPES = RowShapes.of(LAYOUT)


def file(low: int, high: int, level: int = 0, size: int = 100 * MIB, **more: Any) -> LiveFile:
    """A file of keys `low` … `high`, newer than the ones made before it."""
    number = next(NUMBERS)
    record = {
        "_FILE_NAME": f"data-{number}.parquet",
        "_FILE_SIZE": size,
        "_ROW_COUNT": 100,
        "_MIN_KEY": SHAPES.key.encode((low,)),
        "_MAX_KEY": SHAPES.key.encode((high,)),
        "_MIN_SEQUENCE_NUMBER": number,
        "_MAX_SEQUENCE_NUMBER": number,
        "_SCHEMA_ID": 0,
        "_LEVEL": level,
        "_DELETE_ROW_COUNT": more.get("deletes", 0),
        "_FILE_SOURCE": 0,
        "_EXTRA_FILES": [],
    }
    whole = {"_BUCKET": more.get("bucket", 0), "_TOTAL_BUCKETS": 2, "_FILE": record}
    return LiveFile.of(whole, (), SHAPES)


def health(*files: LiveFile, **options: str) -> list[Health]:
    named = option_names(options)
    layout = replace(LAYOUT, options={**LAYOUT.options, **named})
    return table_health(files, parse(layout), "CALL c.sys.compact(table => 'n.t'")


def one(*files: LiveFile, **options: str) -> Health:
    (found,) = health(*files, **options)
    return found


def test_the_figures_of_a_bucket() -> None:
    base = [file(0, 49, 5), file(50, 99, 5, 200 * MIB)]
    found = one(*base, file(0, 9, deletes=3), file(200, 209, size=MIB))
    assert (found.runs, found.level0_files, found.files) == (3, 2, 4)
    assert (found.bytes, found.rows) == (401 * MIB, 400)
    assert (found.largest_file, found.delete_rows) == (200 * MIB, 3)
    # 200 MiB in two runs, 201 MiB in one
    assert found.read_amplification == pytest.approx((200 * 2 + 201) / 401, abs=0.01)


@pytest.mark.parametrize("runs", [1, 2, 7])
def test_runs_of_the_same_keys_cost_as_many_reads(runs: int) -> None:
    assert one(*(file(0, 9) for _ in range(runs))).read_amplification == runs


def test_runs_apart_cost_one() -> None:
    found = one(*(file(10 * n, 10 * n + 9) for n in range(4)))
    assert (found.runs, found.read_amplification, found.advice) == (4, 1.0, "")


CALL = "CALL c.sys.compact(table => 'n.t', compact_strategy => "


def base(**more: Any) -> LiveFile:
    return file(0, 9, 5, **more)


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ([base()], {}, []),
        ([base(), *(file(0, 9) for _ in range(4))], {}, []),
        ([base(), *(file(0, 9) for _ in range(7))], {}, ["8 runs", f"{CALL}'minor')"]),
        ([base(), *(file(0, 9) for _ in range(7))], {"num_sorted_run__stop_trigger": "9"}, []),
        (
            [base(), *(file(0, 9) for _ in range(5))],
            {"write_only": "true"},
            ["write-only, and no compaction for 5 runs", f"{CALL}'full')"],
        ),
        ([base(), *(file(0, 9) for _ in range(4))], {"write_only": "true"}, []),
        ([base(), file(0, 9, deletes=50)], {}, ["25 % of the rows are deletes", f"{CALL}'full')"]),
        ([base(), file(0, 9, deletes=30)], {}, []),
        (
            [file(10 * n, 10 * n + 9, 5, MIB) for n in range(17)],
            {},
            ["small files: 17 below a tenth of target-file-size (128 MiB)", f"{CALL}'full')"],
        ),
        ([file(10 * n, 10 * n + 9, 5, MIB) for n in range(16)], {}, []),
        ([file(10 * n, 10 * n + 9, 5, MIB) for n in range(17)], {"target_file_size": "2 mb"}, []),
        ([base(size=17 << 30)], {}, ["17.0 GiB in one bucket", "more buckets"]),
        ([base(size=15 << 30)], {}, []),
    ],
)
def test_advice(files: list[LiveFile], options: dict[str, str], said: list[str]) -> None:
    advice = one(*files, **options).advice
    assert bool(advice) == bool(said)
    for part in said:
        assert part in advice


def test_too_many_small_buckets() -> None:
    found = health(*(file(0, 9, 5, MIB, bucket=b) for b in range(16)))
    assert all("16 buckets of 1 MiB on average: fewer buckets" in h.advice for h in found)
    assert not any(h.advice for h in health(*(file(0, 9, 5, MIB, bucket=b) for b in range(15))))


def test_skew() -> None:
    sizes = [100 * MIB] * 9 + [5000 * MIB]
    found = health(*(file(0, 9, 5, size, bucket=b) for b, size in enumerate(sizes)))
    assert [bool(h.advice) for h in found] == [False] * 9 + [True]
    assert "8 times the mean" in found[-1].advice
