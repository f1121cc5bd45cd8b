"""A catalog of Paimon's Java beside ours of the same options, and what all such pairs bear."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

import keyfold
from keyfold.errors import NamespaceExistsError, TableExistsError

Options = dict[str, str]
SHOP = "shop"
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.string())])


class Java:
    """A catalog of these options, opened for each use: while one in JDBC is open, nobody else
    writes an SQLite file, as it leaves a query open.
    """

    def __init__(self, java: Any, options: Options) -> None:
        self.paimon, self.options = java.jvm.org.apache.paimon, options

    @contextmanager
    def opened(self) -> Iterator[Any]:
        given = self.paimon.options.Options.fromMap(self.options)
        context = self.paimon.catalog.CatalogContext.create(given)
        catalog = self.paimon.catalog.CatalogFactory.createCatalog(context)
        try:
            yield catalog
        finally:
            catalog.close()

    def named(self, table: str) -> Any:
        return self.paimon.catalog.Identifier.create(SHOP, table)

    def names(self) -> list[str]:
        with self.opened() as catalog:
            return sorted(catalog.listTables(SHOP))

    def create(self, table: str, **options: str) -> None:
        """A table of `k` INT, the key, and `v` STRING."""
        types = self.paimon.types.DataTypes
        made = self.paimon.schema.Schema.newBuilder()
        made.column("k", types.INT().notNull()).column("v", types.STRING())
        made.primaryKey(["k"]).option("bucket", "1")
        for name, value in options.items():
            made.option(name, value)
        with self.opened() as catalog:
            catalog.createTable(self.named(table), made.build(), False)

    def write(self, table: str, key: int, value: str) -> None:
        """One commit of one row, by the catalog's table, which has the catalog's lock."""
        row = self.paimon.data.GenericRow(2)
        row.setField(0, key)
        row.setField(1, self.paimon.data.BinaryString.fromString(value))
        with self.opened() as catalog:
            found = catalog.getTable(self.named(table))
            builder = self.paimon.table.sink.BatchWriteBuilderImpl(found)
            writer, committer = builder.newWrite(), builder.newCommit()
            writer.write(row)
            committer.commit(writer.prepareCommit())
            writer.close()
            committer.close()

    def read(self, table: str) -> dict[int, str]:
        found = {}
        with self.opened() as catalog:
            builder = self.paimon.table.source.ReadBuilderImpl(catalog.getTable(self.named(table)))
            for split in builder.newScan().plan().splits():
                reader = builder.newRead().createReader(split)
                rows = self.paimon.reader.RecordReaderIterator(reader)
                while rows.hasNext():
                    row = rows.next()
                    found[row.getInt(0)] = row.getString(1).toString()
                rows.close()
        return found


def rows(options: Options, table: str) -> dict[int, str]:
    """What our catalog of these options reads of a table."""
    found = keyfold.connect(**options).table(f"{SHOP}.{table}").scan().to_arrow().to_pylist()
    return {row["k"]: row["v"] for row in found}


def take_turns(theirs: Java) -> None:
    """Each side finds, reads and writes what the other has made, and its names are taken."""
    options = theirs.options
    ours = keyfold.connect(**options)
    ours.create_namespace(SHOP, {"team": "blue"})
    with theirs.opened() as catalog:
        assert catalog.getDatabase(SHOP).options()["team"] == "blue"
    made = ours.create_table(f"{SHOP}.ours", SCHEMA, primary_key=["k"], options={"bucket": "1"})
    made.upsert([{"k": 1, "v": "a"}])
    assert theirs.names() == ["ours"]
    theirs.write("ours", 2, "b")
    assert theirs.read("ours") == rows(options, "ours") == {1: "a", 2: "b"}

    theirs.create("theirs")
    theirs.write("theirs", 1, "x")
    ours.table(f"{SHOP}.theirs").upsert([{"k": 1, "v": "y"}, {"k": 3, "v": "z"}])
    assert theirs.read("theirs") == rows(options, "theirs") == {1: "y", 3: "z"}
    with pytest.raises(TableExistsError):
        ours.create_table(f"{SHOP}.theirs", SCHEMA, primary_key=["k"])
    with pytest.raises(Py4JJavaError, match="TableAlreadyExistException"):
        theirs.create("ours")
    assert theirs.names() == ["ours", "theirs"]


def rename_and_alter(theirs: Java) -> None:
    """Each side renames and alters what the other has renamed and altered: a table `w` is left."""
    ours = keyfold.connect(**theirs.options)
    with theirs.opened() as catalog:
        catalog.createDatabase(SHOP, False)
    with pytest.raises(NamespaceExistsError):
        ours.create_namespace(SHOP)
    theirs.create("t")
    ours.rename_table(f"{SHOP}.t", f"{SHOP}.u")
    theirs.write("u", 1, "a")
    with theirs.opened() as catalog:
        catalog.renameTable(theirs.named("u"), theirs.named("w"), False)
    assert rows(theirs.options, "w") == {1: "a"}
    alter(theirs, "w")


def alter(theirs: Java, table: str) -> None:
    """Each side sets an option, and ours adds a column `n`; both see all of it."""
    change = theirs.paimon.schema.SchemaChange.setOption("num-sorted-run.stop-trigger", "9")
    with theirs.opened() as catalog:
        catalog.alterTable(theirs.named(table), [change], False)
    ours = keyfold.connect(**theirs.options).table(f"{SHOP}.{table}")
    ours.alter(options={"num-sorted-run.compaction-trigger": "7"}, add={"n": "INT"})
    with theirs.opened() as catalog:
        found = catalog.getTable(theirs.named(table))
        assert found.options()["num-sorted-run.stop-trigger"] == "9"
        assert found.options()["num-sorted-run.compaction-trigger"] == "7"
        assert list(found.rowType().getFieldNames()) == ["k", "v", "n"]


def drop_all(theirs: Java, table: str) -> None:
    """Each side drops a table, and ours the namespace."""
    ours = keyfold.connect(**theirs.options)
    theirs.create("gone")
    with theirs.opened() as catalog:
        catalog.dropTable(theirs.named("gone"), False)
    assert ours.tables(SHOP) == [table]
    ours.drop_table(f"{SHOP}.{table}")
    assert theirs.names() == []
    ours.drop_namespace(SHOP)
    with theirs.opened() as catalog:
        assert SHOP not in list(catalog.listDatabases())
