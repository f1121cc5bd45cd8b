"""The three that share tables: keyfold (without a JVM), pypaimon and Paimon's Java library.

Each side makes, alters, writes, compacts and reads the tables of one warehouse. keyfold answers the
questions that its JVM would ask; the others are used as their users do. Rows are (kind, values by
column); what a side can't do it refuses by raising `Refused`.
"""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from integration.paimon import library
from integration.paimon.library import Paimon, RefusedByPaimon
from keyfold.errors import NotSupportedError
from keyfold.kernels.ops import KIND_NAMES
from keyfold.lookup.of_tasks import CARRIED, TaskLookups
from keyfold.merge.plan import check
from keyfold.questions import commit as driver
from keyfold.questions.tasks import rewrite as executor
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.testing.tables import Record
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from keyfold.wire.layout import TableLayout
from keyfold.wire.message_texts import texts_of
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import WriteSpec
from keyfold.write.writer import write
from tests import readers
from tests.compact import parts as compactions

NAMESPACE = "shared"
ROWS_A_BATCH = 7
Json = dict[str, Any]
Rows = Sequence[Record]


class Refused(Exception):
    """A side can't do what it was asked; the text is its reason."""


@dataclass(frozen=True)
class Shape:
    """A table to make: types are Paimon's JSON; `op` names the column of `rowkind.field`."""

    name: str
    columns: Mapping[str, Any]
    key: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_nullable_key(self) -> bool:
        """Whether key columns may be NULL."""
        return self.options.get("primary-key.nullable") == "true"

    @property
    def fields(self) -> list[Json]:
        """The columns as schema files have them."""
        ids = itertools.count()
        made = []
        for name, kind in self.columns.items():
            parsed = paimon_types.from_paimon(kind)
            is_nullable = parsed.nullable and (name not in self.key or self.has_nullable_key)
            parsed = logical.with_nullability(parsed, is_nullable)
            number = next(ids)
            assigned = logical.assign_ids(parsed, lambda: next(ids))
            made.append({"id": number, "name": name, "type": paimon_types.to_paimon(assigned)})
        return made


@dataclass(frozen=True)
class Change:
    """One ALTER of a column: add (of a type, behind another column), drop, rename (to another
    name), type (another one) or move (behind another column).
    """

    do: str
    column: str
    to: Any = None
    after: str | None = None


class Side(ABC):
    """ ""Who does something to tables of a warehouse."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse

    def folder(self, name: str) -> Path:
        """Where a table lies."""
        return self.warehouse / f"{NAMESPACE}.db" / name

    @abstractmethod
    def create(self, shape: Shape) -> None:
        """Make a table."""

    @abstractmethod
    def alter(self, name: str, change: Change) -> None:
        """Change a column."""

    @abstractmethod
    def write(self, layout: TableLayout, name: str, rows: Rows) -> None:
        """One job, one commit."""

    @abstractmethod
    def read(self, layout: TableLayout, name: str) -> pa.Table:
        """All rows, with the columns and types of the layout."""

    def compact(self, name: str, *, full: bool) -> None:
        """Compact every bucket, or what the side picks."""
        raise Refused(f"{type(self).__name__} does not compact")


class Keyfold(Side):
    """keyfold, by the questions its JVM asks."""

    def __init__(self, warehouse: Path) -> None:
        super().__init__(warehouse)
        self.catalog = open_catalog("keyfold", {"warehouse": str(warehouse)}, check)
        self.catalog.create_namespace([NAMESPACE], {})

    def table(self, name: str) -> Table:
        """The table as it is now."""
        return self.catalog.load_table([NAMESPACE], name)

    def create(self, shape: Shape) -> None:
        columns = []
        for one in shape.fields:
            kind = paimon_types.from_paimon(one["type"])
            spark = spark_types.to_spark(kind)
            columns.append({"name": one["name"], "type": spark, "nullable": kind.nullable})
        new = NewTable(columns, shape.partitions, shape.key, dict(shape.options))
        self.catalog.create_table([NAMESPACE], shape.name, new)

    def alter(self, name: str, change: Change) -> None:
        told: Json = {"name": [change.column]}
        if change.do in ("add", "type"):
            told["type"] = spark_types.to_spark(paimon_types.from_paimon(change.to))
        if change.do == "rename":
            told["to"] = change.to
        if change.after is not None:
            told["position"] = {"after": change.after}
        names = {"add": "add_column", "type": "update_column_type", "rename": "rename_column"}
        names |= {"drop": "delete_column", "move": "update_column_position"}
        with refusals(NotSupportedError):
            self.catalog.alter_table([NAMESPACE], name, [{"change": names[change.do], **told}])

    def write(self, layout: TableLayout, name: str, rows: Rows) -> None:
        table = self.table(name)
        question = {"table": table.handle, "catalog": {"options": {}}, "mode": "append"}
        names = list(table.layout.arrow_schema.names)
        question |= {"columns": names, "ordinal": False, "filters": []}
        planned = driver.plan_write(sent(question))
        spec = WriteSpec.from_json(sent(planned["write"]))
        lookups = TaskLookups.from_json(sent(planned["write"][CARRIED]))
        messages = write(spec, arrow(table.layout, rows).to_batches(ROWS_A_BATCH), lookups)
        told = [*texts_of(messages)]
        driver.commit_write(sent(question | planned | {"messages": told}))

    def read(self, layout: TableLayout, name: str) -> pa.Table:
        return self.filtered(self.table(name), ())

    def filtered(self, table: Table, filters: Sequence[Any]) -> pa.Table:
        """Rows that may pass the filters, and all that do."""
        table.check_readable()
        schema = table.layout.arrow_schema
        scan, tasks, _ = plan_read(table, ReadRequest(schema.names, decoded(filters)))
        batches = [b for task in tasks for split in task for b in read(scan, split)]
        return pa.Table.from_batches(batches, schema)

    def compact(self, name: str, *, full: bool) -> None:
        question = {"table": self.table(name).handle, "catalog": {"options": {}}}
        asked = {"strategy": "full" if full else "minor", "touched": None}
        planned = sent(compactions.plan_steps(sent(question | {"compaction": asked})))
        for step in planned["steps"]:
            asked = {"compaction": planned["compaction"], "task": step["tasks"]}
            done = sent(executor.compact(asked))["done"]
            told = {"compaction": planned["compaction"], "steps": [step["step"]]}
            told["results"] = [[one["files"] for one in done]]
            again = {"table": self.table(name).handle, "catalog": {"options": {}}}
            (answer,) = compactions.commit_compaction(sent(again | told))
            assert answer["outcome"] == "committed", answer


class KeyfoldInSpark(Keyfold):
    """keyfold in a Spark session, whose catalog `keyfold` has this warehouse."""

    def __init__(self, spark: SparkSession, warehouse: Path) -> None:
        super().__init__(warehouse)
        self.spark = spark

    def write(self, layout: TableLayout, name: str, rows: Rows) -> None:
        table = f"keyfold.{NAMESPACE}.{name}"
        made = arrow(layout, rows).cast(loose(layout.arrow_schema))
        frame = self.spark.createDataFrame(made, self.spark.table(table).schema)
        # one partition: the order of rows says which of a key comes last
        frame.coalesce(1).writeTo(table).append()

    def read(self, layout: TableLayout, name: str) -> pa.Table:
        frame = self.spark.table(f"keyfold.{NAMESPACE}.{name}")
        return frame.toArrow().cast(layout.arrow_schema)

    def compact(self, name: str, *, full: bool) -> None:
        strategy = "full" if full else "minor"
        arguments = f"table => '{NAMESPACE}.{name}', compact_strategy => '{strategy}'"
        self.spark.sql(f"CALL keyfold.sys.compact({arguments})")


class Pypaimon(Side):
    """pypaimon, as its users use it."""

    def ask(self, do: str, name: str, rows: pa.Table | None = None, **more: Any) -> Any:
        """What it answers to a question about a table; Refused."""
        table = f"{NAMESPACE}.{name}"
        with refusals(readers.Refused):
            return readers.ask(
                do, rows, catalog=readers.options(self.warehouse), table=table, **more
            )

    def create(self, shape: Shape) -> None:
        names = {"partition_keys": shape.partitions, "primary_keys": shape.key}
        self.ask("create", shape.name, fields=shape.fields, options=dict(shape.options), **names)

    def alter(self, name: str, change: Change) -> None:
        self.ask("alter", name, change=asdict(change))

    def write(self, layout: TableLayout, name: str, rows: Rows) -> None:
        self.ask("write", name, arrow(layout, rows).cast(as_they_hold(layout), safe=False))

    def read(self, layout: TableLayout, name: str) -> pa.Table:
        return self.ask("read", name).cast(layout.arrow_schema)


class Rust(Pypaimon):
    """pypaimon-rust, which makes and alters no tables here."""

    def write(self, layout: TableLayout, name: str, rows: Rows) -> None:
        self.ask("write_by_rust", name, arrow(layout, rows))

    def read(self, layout: TableLayout, name: str) -> pa.Table:
        return self.ask("read_by_rust", name).cast(layout.arrow_schema)


class Java(Side):
    """Paimon's Java library. A branch is a table `t$branch_b`."""

    def __init__(self, warehouse: Path, paimon: Paimon) -> None:
        super().__init__(warehouse)
        self.paimon = paimon

    def create(self, shape: Shape) -> None:
        with refusals(RefusedByPaimon):
            self.paimon.create(self.folder(shape.name), schema(shape))

    def alter(self, name: str, change: Change) -> None:
        with refusals(RefusedByPaimon):
            self.paimon.alter(self.folder(name), [schema_change(change)])

    def write(self, layout: TableLayout, name: str, rows: Rows) -> None:
        listed = [library.row(KIND_NAMES[kind], *values.values()) for kind, values in rows]
        with refusals(RefusedByPaimon):
            folder, branch = self.place(name)
            self.paimon.write(folder, listed, **branch)

    def read(self, layout: TableLayout, name: str) -> pa.Table:
        # what is not compacted of a first-row table is hidden from batch jobs
        is_hidden = layout.options.get("merge-engine") == "first-row"
        mode = "compact" if is_hidden else "none"
        with refusals(RefusedByPaimon):
            folder, branch = self.place(name)
            answer = self.paimon.read(folder, batch_scan_mode=mode, **branch)
        return library.table(layout.arrow_schema, answer)

    def compact(self, name: str, *, full: bool) -> None:
        with refusals(RefusedByPaimon):
            folder, branch = self.place(name)
            self.paimon.compact(folder, full=full, **branch)

    def place(self, name: str) -> tuple[Path, dict[str, str]]:
        """The folder of a table, and the option that names its branch."""
        table, _, branch = name.partition("$branch_")
        return self.folder(table), {"branch": branch} if branch else {}


@contextmanager
def refusals(kind: type[Exception]) -> Iterator[None]:
    """What another's library raises, as Refused."""
    try:
        yield
    except kind as error:
        raise Refused(f"{type(error).__name__}: {error}") from error


def schema(shape: Shape) -> Json:
    """The table as Java's JSON of a schema."""
    return {
        "fields": shape.fields,
        "partitionKeys": list(shape.partitions),
        "primaryKeys": list(shape.key),
        "options": dict(shape.options),
        "comment": None,
    }


def schema_change(change: Change) -> Json:
    """The change as Java's JSON of one."""
    named = {"fieldNames": [change.column]}
    move = {"fieldName": change.column, "referenceFieldName": change.after, "type": "AFTER"}
    if change.do == "add":
        told = {"dataType": change.to, "comment": None, "move": move if change.after else None}
        return {"action": "addColumn", **named, **told}
    if change.do == "drop":
        return {"action": "dropColumn", **named}
    if change.do == "rename":
        return {"action": "renameColumn", **named, "newName": change.to}
    if change.do == "type":
        kind = {"newDataType": change.to, "keepNullability": False}
        return {"action": "updateColumnType", **named, **kind}
    return {"action": "updateColumnPosition", "move": move}


def arrow(layout: TableLayout, rows: Rows) -> pa.Table:
    """Rows as a table of the layout's types; their kinds are in the column of `rowkind.field`."""
    return pa.Table.from_pylist([values for _, values in rows], layout.arrow_schema)


def as_they_hold(layout: TableLayout) -> pa.Schema:
    """The columns as pypaimon holds them: times of few digits in larger units."""
    units = ("s", "ms", "ms", "ms", "us", "us", "us")
    fields = []
    for column in layout.columns:
        own = column.arrow_field
        if isinstance(column.type, logical.Atomic) and pa.types.is_timestamp(own.type):
            own = own.with_type(pa.timestamp(units[column.type.length or 0], own.type.tz))
        fields.append(own)
    return pa.schema(fields)


def loose(schema: pa.Schema) -> pa.Schema:
    """The schema with columns that may all be NULL."""
    return pa.schema([own.with_nullable(True) for own in schema])


def sent(value: Any) -> Any:
    """What arrives of something that goes through JSON."""
    return json.loads(json.dumps(value))
