"""Random upserts, deletes by row kind, overwrites, truncates: a table reads as a dict would."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

KEYS = st.integers(-3, 12)
VALUES = st.one_of(st.none(), st.text("abé世", max_size=9))
CHANGES = st.lists(
    st.tuples(KEYS, VALUES, st.sampled_from(["+I", "+I", "+U", "-D", "-U"])),
    min_size=1,
    max_size=12,
)
UPSERTS = st.lists(st.tuples(KEYS, VALUES, st.just("+I")), max_size=12)
SCHEMA = "id INT, v STRING, op STRING"
NUMBERS = itertools.count()


class TableMachine(RuleBasedStateMachine):
    """A deduplicate table, and the dict it should read as."""

    spark: SparkSession

    def __init__(self) -> None:
        super().__init__()
        self.name = f"keyfold.it.machine{next(NUMBERS)}"
        self.model: dict[int, str | None] = {}
        self.changed = False

    @initialize(buckets=st.integers(1, 3))
    def create(self, buckets: int) -> None:
        create_keyed(self.spark, self.name, SCHEMA, key="id", bucket=buckets, rowkind__field="op")

    def frame(self, rows: list[tuple[Any, ...]]) -> Any:
        return self.spark.createDataFrame(rows, SCHEMA).coalesce(1)

    def fold(self, rows: list[tuple[Any, ...]]) -> None:
        for key, value, kind in rows:
            if kind in ("-D", "-U"):
                self.model.pop(key, None)
            else:
                self.model[key] = value
        self.changed = True

    @rule(rows=CHANGES)
    def write(self, rows: list[tuple[Any, ...]]) -> None:
        self.frame(rows).writeTo(self.name).append()
        self.fold(rows)

    @rule(rows=CHANGES)
    def write_again(self, rows: list[tuple[Any, ...]]) -> None:
        self.frame(rows).writeTo(self.name).append()
        self.fold(rows)

    @rule(rows=UPSERTS)
    def overwrite(self, rows: list[tuple[Any, ...]]) -> None:
        self.frame(rows).write.insertInto(self.name, overwrite=True)
        self.model.clear()
        self.fold(rows)

    @precondition(lambda self: self.model)
    @rule()
    def truncate(self) -> None:
        self.spark.sql(f"TRUNCATE TABLE {self.name}")
        self.model.clear()
        self.changed = True

    @precondition(lambda self: self.model)
    @rule(key=KEYS)
    def look_up(self, key: int) -> None:
        rows = self.spark.sql(f"SELECT v FROM {self.name} WHERE id = {key}").collect()
        assert [row.v for row in rows] == [v for k, v in self.model.items() if k == key]

    @invariant()
    def reads_as_the_model(self) -> None:
        if self.changed:
            frame = self.spark.sql(f"SELECT id, v FROM {self.name}")
            rows = (assert_ours(frame) if self.model else frame).collect()
            assert len(rows) == len(self.model)
            assert {row.id: row.v for row in rows} == self.model
        self.changed = False


@pytest.mark.parametrize("engine", ["deduplicate"])
def test_table_reads_as_a_dict(spark: SparkSession, engine: str) -> None:
    TableMachine.spark = spark
    run_machine(
        TableMachine,
        settings=settings(
            max_examples=5,
            stateful_step_count=8,
            deadline=None,
            print_blob=True,
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )
