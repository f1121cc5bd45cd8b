"""A catalog of Paimon's Java, to be used beside ours of the same options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Options = dict[str, str]
SHOP = "shop"


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
