"""Jobs as the processes of these tests run them: the driver's and executors' own functions, asked
in the order in which the JVM asks them.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from keyfold.errors import ConflictError
from keyfold.kernels.ops import DELETE, UPDATE_AFTER
from keyfold.merge.plan import check
from keyfold.questions import commit, partitions
from keyfold.questions.tasks import rewrite
from keyfold.questions.tasks.write import job_of
from keyfold.read import scan_plan
from keyfold.read.provenance import stored_sequences
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.table import Table
from keyfold.wire.message_texts import texts_of
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import ScanSpec, Split, WriteSpec
from keyfold.write.writer import write
from tests.compact import parts
from tests.procedures.called import called
from tests.read import harness
from tests.storage import tables

Json = dict[str, Any]
Row = dict[str, Any]
Options = dict[str, str]
Place = str | Options  # a folder, or the options of a catalog elsewhere


def options_of(place: Place) -> dict[str, str]:
    """Those of the catalog of a warehouse."""
    return {"warehouse": place} if isinstance(place, str) else place


def catalog(place: Place) -> Catalog:
    """The catalog of a warehouse."""
    return open_catalog("test", options_of(place), check)


def made(place: Place, **options: str) -> Table:
    """The table `t`, of one bucket unless the options say otherwise."""
    new = tables.new_table(**({"bucket": "1"} | options))
    return catalog(place).create_table(["default"], "t", new)


def table_of(place: Place, name: str = "t") -> Table:
    """The table of a warehouse as it is now."""
    return catalog(place).load_table(["default"], name)


def question(table: Table, place: Place | None = None, **more: Any) -> Json:
    """A question about a table, as JSON leaves it; the handle of one in a folder needs no place."""
    asked: Json = json.loads(json.dumps(more))
    options = {} if place is None else options_of(place)
    return {"table": table.handle, "catalog": {"name": "test", "options": options}} | asked


class Write:
    """A write job: planned when it is made, then `run`, then `commit`ted."""

    def __init__(
        self,
        place: Place,
        rows: Sequence[Row],
        mode: str = "append",
        filters: Sequence[Predicate] = (),
        name: str = "t",
    ) -> None:
        self.place, self.table, self.rows = place, table_of(place, name), rows
        columns = [column.name for column in self.table.layout.columns]
        more = {"mode": mode, "filters": [one.to_json() for one in filters]}
        asked = question(self.table, place, columns=columns, ordinal=False, **more)
        self.planned: Json = commit.plan_write(asked)["write"]
        self.messages: list[str] = []

    def run(self) -> "Write":
        spec = WriteSpec.from_json(self.planned)
        batches = harness.batches(spec.layout, self.rows)
        self.messages = [*texts_of(write(spec, batches))]
        return self

    def commit(self) -> int | None:
        asked = self._asked()
        try:
            published: int | None = commit.commit_write(asked)["snapshot"]
        except BaseException:
            commit.abort_write(asked)
            raise
        return published

    def abort(self) -> None:
        """What the JVM asks where the job failed."""
        commit.abort_write(self._asked())

    def commit_again(self) -> int | None:
        """What the JVM asks where the process died that it asked to commit; None if that is refused
        and nothing changed.
        """
        asked = self._asked(again=True)
        try:
            published: int | None = commit.commit_write(asked)["snapshot"]
        except ConflictError:
            self.abort()
            return None
        return published

    def _asked(self, **more: Any) -> Json:
        return question(self.table, self.place, write=self.planned, messages=self.messages, **more)


class Changes(Write):
    """A statement that changes rows: it reads the table when it is made. `records` are pairs of a
    kind (byte) and a row; `assigned` are the columns that updates set, None if nobody knows.
    """

    def __init__(
        self,
        place: Place,
        records: Sequence[tuple[int, Row]],
        command: str = "MERGE",
        assigned: Sequence[str] | None = None,
        reads: bool = True,
        name: str = "t",
    ) -> None:
        self.place, self.table, self.records = place, table_of(place, name), records
        told = {"command": command, "reads": reads, "assigned": assigned, "has_kinds": True}
        stored = stored_sequences(self.table.layout) if reads else {}
        self._stored = tuple(stored.values())
        self._question = question(
            self.table,
            place,
            columns=self.table.layout.arrow_schema.names,
            ordinal=False,
            mode="append",
            filters=[],
            changes=told | {"stored": self._stored},
        )
        self.plan()

    def plan(self) -> None:
        """Plan it anew, on what it has read."""
        self.planned = commit.plan_write(self._question)["write"]
        self.messages: list[str] = []

    def run(self, tasks: int = 1) -> "Changes":
        """Write the records in as many tasks, those of a key in one, as Spark clusters them."""
        spec, before = job_of({"write": self.planned})
        for task in range(tasks):
            own = [one for one in self.records if hash(one[1]["k"]) % tasks == task]
            found = write(spec, self._batches(spec, own), before)
            self.messages += texts_of(found)
        return self

    def _batches(
        self, spec: WriteSpec, records: Sequence[tuple[int, Row]]
    ) -> Iterator[pa.RecordBatch]:
        own = [field.with_nullable(True) for field in spec.layout.arrow_schema]
        stored = [
            pa.field(f"_STORED_{name}", spec.layout.column(name).arrow_field.type)
            for name in self._stored
        ]
        schema = pa.schema([*own, *stored, pa.field("_VALUE_KIND", pa.int8())])
        rows = [{**row, "_VALUE_KIND": kind} for kind, row in records]
        yield from pa.Table.from_pylist(rows, schema=schema).to_batches(5)


class Compact:
    """A compaction: planned when it is made, then `run`, then `commit`ted."""

    def __init__(self, place: Place, strategy: str = "full") -> None:
        self.place, self.table = place, table_of(place)
        asked = {"strategy": strategy, "partitions": None, "where": [], "touched": None}
        self.planned: Json = parts.plan_steps(question(self.table, place, compaction=asked))
        self.done: list[list[Json]] = []

    def run(self) -> "Compact":
        spec = self.planned["compaction"]
        tasks = (step["tasks"] for step in self.planned["steps"])
        self.done = [[_files(spec, task) for task in of_step] for of_step in tasks]
        return self

    def commit(self) -> list[str]:
        """The outcome of each step."""
        spec, steps = self.planned["compaction"], [one["step"] for one in self.planned["steps"]]
        if not steps:
            return []
        asked = question(self.table, self.place, compaction=spec, steps=steps, results=self.done)
        return [answer["outcome"] for answer in parts.commit_compaction(asked)]

    def abandon(self) -> None:
        """What the JVM asks where the commit failed."""
        spec, steps = self.planned["compaction"], self.planned["steps"]
        results = [files for of_step in self.done for files in of_step]
        if steps:
            step = steps[0]["step"]
            asked = question(self.table, self.place, compaction=spec, step=step, results=results)
            parts.abandon_compaction(asked)


class Rescale:
    """A rescale: planned when it is made, then `run`, then `commit`ted."""

    def __init__(self, folder: str, buckets: int) -> None:
        self.table = table_of(folder)
        asked = question(self.table, buckets=buckets, parallelism=2)
        self.planned: Json = parts.plan_rescale(asked)
        self.done: list[Json] = []

    def run(self) -> "Rescale":
        spec = self.planned["compaction"]
        self.done = [_files(spec, task) for task in self.planned["tasks"]]
        return self

    def commit(self) -> int | None:
        told = {"compaction": self.planned["compaction"], "step": self.planned["step"]}
        asked = question(self.table, results=self.done, **told)
        published: int | None = parts.commit_rescale(asked)["snapshot"]
        return published


def rescaled(folder: str, buckets: int) -> int | None:
    """A whole rescale."""
    return Rescale(folder, buckets).run().commit()


def partition_dropped(folder: str, value: int) -> bool:
    """A DROP PARTITION of column `p`."""
    named = [harness.where("<=>", "p", value).to_json()]
    return partitions.drop_partitions(question(table_of(folder), partitions=[named]))


def written(
    folder: str, rows: Sequence[Row], mode: str = "append", filters: Sequence[Predicate] = ()
) -> int | None:
    """A whole write job."""
    return Write(folder, rows, mode, filters).run().commit()


def compacted(place: Place, strategy: str = "full") -> list[str]:
    """A whole compaction; the outcome of each step."""
    return Compact(place, strategy).run().commit()


def expired(folder: str, at_most: int, at_least: int | None = None, limit: int = 100_000) -> int:
    """A whole expiry; how many snapshots went."""
    asked = {"retain_max": at_most, "retain_min": at_least, "max_deletes": limit}
    (row,) = called(table_of(folder), "expire_snapshots", **asked)
    return int(row["deleted_snapshots_count"])


def orphans_removed(folder: str, older_than: float | None = None) -> list[str]:
    """A whole clean-up; the paths."""
    millis = None if older_than is None else int(older_than * 1000)
    (row,) = called(table_of(folder), "remove_orphan_files", older_than=millis)
    return list(row["files"])


def deleted(folder: str, key: int, **partition: int) -> int | None:
    """A whole DELETE of one key."""
    return Changes(folder, [(DELETE, {"k": key, **partition})], "DELETE").run().commit()


def updated(folder: str, key: int, value: int) -> int | None:
    """A whole UPDATE of one key, which is there."""
    return Changes(folder, [(UPDATE_AFTER, {"k": key, "v": value})], "UPDATE").run().commit()


def truncated(folder: str) -> int | None:
    """A TRUNCATE TABLE."""
    published: int | None = commit.truncate_table(question(table_of(folder)))["snapshot"]
    return published


def dropped(folder: str) -> bool:
    """A DROP TABLE."""
    return catalog(folder).drop_table(["default"], "t")


def replaced(folder: str) -> None:
    """A DROP TABLE, and a table of its name."""
    dropped(folder)
    made(folder)


def altered(folder: str, changes: Sequence[Json]) -> int:
    """An ALTER TABLE; the new schema's id."""
    found = catalog(folder).alter_table(["default"], "t", changes)
    return found.layout.schema_id


def splits_of(table: Table) -> tuple[ScanSpec, list[Split]]:
    """The plan of a query of the handle's snapshot."""
    scan, made, _ = scan_plan.plan_read(table, ReadRequest(["k", "v"]))
    return scan, [split for task in made for split in task]


def read_all(scan: ScanSpec, splits: Sequence[Split]) -> list[Row]:
    """The rows of all splits."""
    return [row for split in splits for batch in read(scan, split) for row in batch.to_pylist()]


def rows_of(table: Table) -> dict[int, Any]:
    """Column `v` by key, of the snapshot of the handle."""
    rows = read_all(*splits_of(table))
    found = {row["k"]: row["v"] for row in rows}
    assert len(found) == len(rows), "a key is read twice"
    return found


def _files(spec: Json, task: Json) -> Json:
    """The files of one task of a compaction."""
    (done,) = rewrite.compact({"compaction": spec, "task": [task]})["done"]
    files: Json = done["files"]
    return files
