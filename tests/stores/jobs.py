"""Jobs on a table in an object store, asked as the JVM asks them."""

import json
from collections.abc import Sequence
from typing import Any

from keyfold.merge.plan import check
from keyfold.questions import commit, compact, rewrite
from keyfold.storage.catalogs.catalog import open_catalog
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.table import Table
from keyfold.wire.specs import WriteSpec
from keyfold.write.writer import write
from tests.read import harness
from tests.storage import tables

Options = dict[str, str]
Row = dict[str, Any]


def catalog(options: Options) -> Catalog:
    """The catalog of the warehouse."""
    return open_catalog("test", options, check)


def made(options: Options, **more: str) -> Table:
    """The table `t`, of one bucket unless it says otherwise."""
    new = tables.new_table(**({"bucket": "1"} | more))
    return catalog(options).create_table(["default"], "t", new)


def loaded(options: Options) -> Table:
    """The table as it is now."""
    return catalog(options).load_table(["default"], "t")


def question(options: Options, table: Table, **more: Any) -> dict[str, Any]:
    """A question about a table, as JSON leaves it."""
    asked = {"table": table.handle, "catalog": {"name": "test", "options": options}}
    found: dict[str, Any] = json.loads(json.dumps(asked | more))
    return found


class Write:
    """A write job: planned when it is made, then `run`, then `commit`ted."""

    def __init__(self, options: Options, rows: Sequence[Row], mode: str = "append") -> None:
        self.options, self.table, self.rows = options, loaded(options), rows
        columns = [column.name for column in self.table.layout.columns]
        asked = question(options, self.table, columns=columns, ordinal=False, mode=mode, filters=[])
        self.planned = commit.plan_write(asked)["write"]
        self.messages: list[Any] = []

    def run(self) -> "Write":
        spec = WriteSpec.from_json(self.planned)
        found = write(spec, harness.batches(spec.layout, self.rows))
        self.messages = [message.to_json() for message in found]
        return self

    def commit(self) -> int | None:
        asked = question(self.options, self.table, write=self.planned, messages=[self.messages])
        try:
            published: int | None = commit.commit_write(asked)["snapshot"]
        except BaseException:
            commit.abort_write(asked)
            raise
        return published


def compacted(options: Options) -> list[str]:
    """A whole full compaction; the outcome of each step."""
    table = loaded(options)
    asked = {"strategy": "full", "partitions": None, "where": [], "touched": None}
    planned = compact.plan_compaction(question(options, table, compaction=asked))
    spec = planned["compaction"]
    done = [
        [
            rewrite.compact(json.loads(json.dumps({"compaction": spec, "task": task})))["files"]
            for task in step["tasks"]
        ]
        for step in planned["steps"]
    ]
    steps = [step["step"] for step in planned["steps"]]
    said = question(options, table, compaction=spec, steps=steps, results=done)
    return [answer["outcome"] for answer in compact.commit_compaction(said)]
