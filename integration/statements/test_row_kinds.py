"""`rowkind.field` and `sequence.field`: what deletes, what is older, and for which engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

Values = list[tuple[object, ...]]


@dataclass(frozen=True)
class Case:
    """Columns `id INT, v INT, n INT, op STRING`; each job is one INSERT; `expect` maps id to v."""

    name: str
    jobs: list[Values]
    expect: dict[int, object]
    options: dict[str, str] = field(default_factory=dict)


KINDS = {"rowkind.field": "op"}
SUM = {
    **KINDS,
    "merge-engine": "aggregation",
    "fields.v.aggregate-function": "sum",
    "fields.n.aggregate-function": "max",
    "fields.n.ignore-retract": "true",
}
CASES = [
    Case("a delete hides", [[(1, 5, 0, "+I")], [(1, 5, 0, "-D")]], {}, KINDS),
    Case("an update before hides", [[(1, 5, 0, "+I")], [(1, 5, 0, "-U")]], {}, KINDS),
    Case("within one job", [[(1, 5, 0, "+I"), (1, 5, 0, "-D"), (1, 6, 0, "+I")]], {1: 6}, KINDS),
    Case("a delete of nothing", [[(1, 5, 0, "-D"), (2, 6, 0, "+U")]], {2: 6}, KINDS),
    Case("back again", [[(1, 5, 0, "+I")], [(1, 5, 0, "-D")], [(1, 7, 0, "+I")]], {1: 7}, KINDS),
    Case(
        "an older delete does nothing",
        [[(1, 5, 9, "+I")], [(1, 5, 3, "-D")]],
        {1: 5},
        {**KINDS, "sequence.field": "n"},
    ),
    Case(
        "an insert older than the delete",
        [[(1, 5, 9, "-D")], [(1, 6, 3, "+I")]],
        {},
        {**KINDS, "sequence.field": "n"},
    ),
    Case(
        "descending",
        [[(1, 5, 3, "+I")], [(1, 6, 9, "+I"), (2, 1, None, "+I")], [(2, 2, 100, "+I")]],
        {1: 5, 2: 2},
        {**KINDS, "sequence.field": "n", "sequence.field.sort-order": "descending"},
    ),
    Case(
        "several fields",
        [[(1, 5, 3, "b"), (1, 6, 3, "a")], [(1, 7, 2, "z"), (2, 1, 1, None)], [(2, 0, 1, "a")]],
        {1: 5, 2: 0},
        {"sequence.field": "n,op"},
    ),
    Case("ties: the later", [[(1, 5, 3, "")], [(1, 6, 3, "")]], {1: 6}, {"sequence.field": "n"}),
    Case(
        "deletes ignored",
        [[(1, 5, 0, "+I"), (1, 6, 0, "-D")], [(1, 7, 0, "-U")]],
        {1: 5},
        {**KINDS, "ignore-delete": "true"},
    ),
    Case(
        "updates before ignored",
        [[(1, 5, 0, "+I"), (2, 5, 0, "+I")], [(1, 7, 0, "-U"), (2, 5, 0, "-D")]],
        {1: 5},
        {**KINDS, "ignore-update-before": "true"},
    ),
    Case(
        "a sum retracts",
        [[(1, 5, 0, "+I"), (1, 3, 0, "+I")], [(1, 5, 0, "-D")], [(1, 2, 0, "-U"), (1, 4, 0, "+U")]],
        {1: 5},
        SUM,
    ),
    Case(
        "a delete removes from an aggregate",
        [[(1, 5, 0, "+I"), (2, 1, 0, "+I")], [(1, 5, 0, "-D")]],
        {2: 1},
        {
            **KINDS,
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
            "aggregation.remove-record-on-delete": "true",
        },
    ),
]


def create(spark: SparkSession, name: str, options: dict[str, str]) -> None:
    columns = "id INT, v INT, n INT, op STRING"
    create_keyed(spark, name, columns, "id", given={**options, "bucket": "2"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_row_kinds(spark: SparkSession, fresh_name: Callable[[], str], case: Case) -> None:
    name = fresh_name()
    create(spark, name, case.options)
    for values in case.jobs:
        frame = spark.createDataFrame(values, "id INT, v INT, n INT, op STRING")
        frame.coalesce(1).writeTo(name).append()
    found = assert_ours(spark.sql(f"SELECT id, v FROM {name}")).collect()
    assert {row.id: row.v for row in found} == case.expect
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == len(case.expect)


@pytest.mark.parametrize("kind", ["D", "delete", "", None])
def test_bad_row_kind_is_refused(
    spark: SparkSession, fresh_name: Callable[[], str], kind: str | None
) -> None:
    name = fresh_name()
    create(spark, name, KINDS)
    frame = spark.createDataFrame([(1, 1, 1, kind)], "id INT, v INT, n INT, op STRING")
    with pytest.raises(PySparkException, match=r"(?i)row kind"):
        frame.writeTo(name).append()
    assert spark.sql(f"SELECT * FROM {name}").collect() == []
