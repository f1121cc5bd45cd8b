"""Filters over values: files, row groups and rows are left out only where they are results."""

import math
import random
from pathlib import Path
from typing import Any

import pytest

from keyfold.predicates.condition import OPERATORS, is_decided
from keyfold.questions.catalog import pushdown
from keyfold.read.formats import parquet
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables

NAN, INF = math.nan, math.inf
# A constant of each type of Paimon's that scans compare, as Spark sends it, and Spark's name of it.
CONSTANTS = {
    "BOOLEAN": (True, "boolean"), "TINYINT": (1, "byte"), "SMALLINT": (1, "short"),
    "INT": (1, "integer"), "BIGINT": (str(2**63 - 1), "long"),
    "DECIMAL(38, 10)": ("1.5000000000", "decimal(38,10)"), "STRING": ("a", "string"),
    "VARCHAR(3)": ("long", "string"), "BYTES": ("AQ==", "binary"), "DATE": (1, "date"),
    "VARBINARY(3)": ("AQ==", "binary"), "BINARY(3)": ("AQ==", "binary"),
    "TIME(3)": (1_000_000, "time(3)"),
    "TIMESTAMP(3)": (1, "timestamp_ntz"), "TIMESTAMP(6) WITH LOCAL TIME ZONE": (1, "timestamp"),
    "DOUBLE": (1.5, "double"), "CHAR(3)": ("a", "string"),
}  # fmt: skip
DOUBLES = [None, NAN, INF, -INF, 0.0, -0.0, 1.5, -2.0]


def made(folder: Path) -> Table:
    columns = [tables.column(n, t) for n, t in (("v", "long"), ("f", "double"), ("s", "string"))]
    settings = {"bucket": "1", "keyfold.row-group.rows": "1024"}
    return tables.table(folder, tables.new_table(tables.column("k"), *columns, key="k", **settings))


def test_files_that_overlap_nothing_are_left_out_by_their_values(tmp_path: Path) -> None:
    table = made(tmp_path)
    for job in range(6):
        harness.upsert(table, [{"k": 10 * job + i, "v": job, "s": f"{job}"} for i in range(10)])
    _, _, report = harness.planned(table, filters=[where("=", "v", 3)])
    assert report.files_read == 1
    assert harness.planned(table, filters=[where(">", "s", "4", type="string")])[2].files_read == 1
    harness.upsert(table, [{"k": 35, "v": 99, "s": "9"}])
    scan, splits, report = harness.planned(table, filters=[where("=", "v", 3)])
    assert report.files_read == 2  # the old row of key 35 is no result
    assert {row["k"] for row in harness.rows_of(scan, splits)} == {*range(30, 40)} - {35}
    assert harness.planned(table, filters=[where("=", "v", 5)])[2].files_read == 3


def test_what_spark_leaves_to_scans_is_decided(tmp_path: Path) -> None:
    """Spark checks no comparison of these columns with constants of their types again."""
    layout = harness.layout(tmp_path, ("k", "INT NOT NULL"), *((kind, kind) for kind in CONSTANTS))
    exact = pushdown(layout)["exact"]
    assert {*CONSTANTS} - {*exact} == {"BINARY(3)", "DOUBLE", "CHAR(3)"}
    for name in exact[1:]:
        for op in {*OPERATORS} - {"AND", "OR", "NOT"}:
            constants = [] if op.startswith("IS_") else [CONSTANTS[name][0]]
            predicate = where(op, name, *constants, type=CONSTANTS[name][1])
            assert is_decided(layout, predicate, [name]), (op, name)


def test_row_groups_without_results_are_not_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path)
    rows = [{"k": k, "v": k // 100, "f": k / 2, "s": f"{k:06d}"} for k in range(10_000)]
    harness.upsert(table, rows)
    groups = []
    original = parquet.groups_of_interest

    def spied(*args: Any) -> list[int]:
        groups.append(original(*args))
        return groups[-1]

    monkeypatch.setattr(parquet, "groups_of_interest", spied)
    assert harness.rows(table, filters=[where("=", "v", 42)]) == rows[4200:4300]
    assert harness.rows(table, filters=[where("<", "f", 10.0, type="double")]) == rows[:20]
    assert not harness.rows(table, filters=[where(">", "f", 9e9, type="double")])
    assert harness.rows(table, filters=[where("=", "s", "009999", type="string")]) == rows[-1:]
    assert [len(found) for found in groups] == [1, 1, 10, 1]  # NaN may stand above any DOUBLE


def greatest(value: float) -> tuple[bool, float]:
    """Spark's order: NaN is above all, zeros are equal."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def passes(predicate: Predicate, row: dict[str, Any]) -> bool:
    value = row[predicate.column]
    if predicate.op == "IS_NULL":
        return value is None
    if value is None:
        return False
    wanted = [one.value for one in predicate.args[1:]]
    if isinstance(value, float):
        value, wanted = greatest(value), [greatest(float(one)) for one in wanted]
    if predicate.op == "IN":
        return value in wanted
    (other,) = wanted
    compared = {"=": value == other, "<": value < other, ">=": value >= other, "<>": value != other}
    return bool(compared[predicate.op])


def test_no_result_is_lost(tmp_path: Path, seed: int) -> None:
    table, draw, model = made(tmp_path), random.Random(seed), {}
    for job in range(8):
        low = draw.choice([0, 1000 * job])
        rows = {
            k: {
                "k": k,
                "v": draw.choice([None, draw.randrange(50)]),
                "f": draw.choice(DOUBLES),
                "s": draw.choice([None, "", "a", "b" * 20]),
            }
            for k in (draw.randrange(low, low + 90) for _ in range(50))
        }
        harness.upsert(table, rows.values())
        model |= rows
        for _ in range(12):
            op = draw.choice(["=", "<", ">=", "<>", "IN", "IS_NULL"])
            name, kind, value = draw.choice(
                [
                    ("v", "long", draw.randrange(50)),
                    ("f", "double", draw.choice(["NaN", "Infinity", 0.0, 1.5])),
                    ("s", "string", draw.choice(["", "a", "b" * 20])),
                ]
            )
            predicate = where(op, name, *([] if op == "IS_NULL" else [value]), type=kind)
            found = [
                row for row in harness.rows(table, filters=[predicate]) if passes(predicate, row)
            ]
            wanted = [row for _, row in sorted(model.items()) if passes(predicate, row)]
            assert str(found) == str(wanted), predicate
