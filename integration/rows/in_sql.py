"""The machine's table in Spark: each step is an SQL statement or a procedure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours
from tests.machine.model import Column, Row, State
from tests.machine.steps import Statement, values_of


class InSql:
    """A table of the catalog `keyfold`."""

    def __init__(self, spark: SparkSession, name: str, options: Mapping[str, str]) -> None:
        self.spark, self.name = spark, name
        create_keyed(spark, name, "k INT, a INT, b INT, s INT", given=options)

    def of(self, line: str, suffix: str = "") -> str:
        """The table or a branch, or a metadata table of it, in SQL."""
        folder, _, own = self.name.rpartition(".")
        branch = f"$branch_{line}" if line else ""
        return f"{folder}.`{own}{branch}{suffix}`"

    def call(self, procedure: str, line: str = "", **given: object) -> None:
        folder, _, own = self.name.partition(".")[2].rpartition(".")
        branch = f"$branch_{line}" if line else ""
        told = ", ".join(f"{key} => {value!r}" for key, value in given.items())
        self.spark.sql(f"CALL keyfold.sys.{procedure}(table => '{folder}.`{own}{branch}`', {told})")

    def insert(self, line: str, state: State, rows: Sequence[Row], names: Sequence[str]) -> None:
        columns = ", ".join(("k", *names))
        self.spark.sql(
            f"INSERT INTO {self.of(line)} ({columns}) SELECT * FROM {values_of(rows, state)}"
        )

    def overwrite(self, line: str, state: State, rows: Sequence[Row]) -> None:
        self.spark.sql(f"INSERT OVERWRITE {self.of(line)} SELECT * FROM {values_of(rows, state)}")

    def change(self, line: str, state: State, statement: Statement) -> None:
        self.spark.sql(statement.sql.format(t=self.of(line)))

    def alter(self, line: str, do: str, column: Column, to: str = "") -> None:
        default = "" if column.default is None else f" DEFAULT {column.default}"
        told = {
            "add": f"ADD COLUMN {column.name} {column.type}{default}",
            "rename": f"RENAME COLUMN {column.name} TO {to}",
            "drop": f"DROP COLUMN {column.name}",
            "widen": f"ALTER COLUMN {column.name} TYPE BIGINT",
        }
        self.spark.sql(f"ALTER TABLE {self.of(line)} {told[do]}")

    def compact(self, line: str, strategy: str) -> None:
        self.call("compact", line, compact_strategy=strategy)

    def expire(self, line: str, kept: int) -> None:
        self.call("expire_snapshots", line, retain_max=kept, retain_min=kept)

    def tag(self, line: str, name: str, snapshot: int) -> None:
        self.spark.sql(f"ALTER TABLE {self.of(line)} CREATE TAG {name} AS OF VERSION {snapshot}")

    def untag(self, line: str, name: str) -> None:
        self.spark.sql(f"ALTER TABLE {self.of(line)} DELETE TAG {name}")

    def branch(self, name: str, tag: str) -> None:
        self.call("create_branch", branch=name, tag=tag)

    def unbranch(self, name: str) -> None:
        self.call("delete_branch", branch=name)

    def forward(self, name: str) -> bool:
        try:
            self.call("fast_forward", branch=name)
        except PySparkException as error:
            if "no snapshot in common" not in str(error):
                raise
            return False
        return True

    def rollback(self, line: str, snapshot: int | None, tag: str | None) -> None:
        self.call(
            "rollback", line, **({"tag": tag} if snapshot is None else {"snapshot": snapshot})
        )

    def newest(self, line: str) -> int:
        found = self.spark.sql(f"SELECT max(snapshot_id) FROM {self.of(line, '$snapshots')}")
        return int(found.collect()[0][0] or 0)

    def read(
        self, line: str, snapshot: int | None = None, tag: str | None = None
    ) -> tuple[list[str], list[Row]]:
        at = f" VERSION AS OF {snapshot}" if snapshot is not None else ""
        at += f" VERSION AS OF '{tag}'" if tag is not None else ""
        found = assert_ours(self.spark.sql(f"SELECT * FROM {self.of(line)}{at}"))
        return found.columns, [row.asDict() for row in found.collect()]
