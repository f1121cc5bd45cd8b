"""The forms in which a program takes rows that are read: Arrow, pandas, Polars, DuckDB."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.tables.rows import frames, optional


class Readable(ABC):
    """Rows that are read when one of its methods asks for them, anew each time, in no order.

    It has Arrow's C stream interface, so that DuckDB, Polars, pandas and others take it as it is.
    """

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The names and Arrow types of the rows."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, which threads read ahead.

        Raises SnapshotExpiredError if the snapshot expired meanwhile, CorruptDataError if a file is
        not what its metadata says.
        """

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def to_arrow(self) -> pa.Table:
        """All rows in memory."""
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.to_batches())

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        found: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return found

    def to_pandas(self, **how: Any) -> Any:
        """All rows as a DataFrame of pandas; `how` is for pyarrow's `Table.to_pandas`.

        Whole numbers and booleans with NULLs have pandas' nullable types (`Int64`), and so have
        floating numbers if one is NaN; otherwise NaN is NULL. With a `types_mapper`, such as
        `pandas.ArrowDtype`, all types are those that it gives. Raises EnvironmentMismatchError if
        pandas is not installed.
        """
        pandas = optional.library("pandas", "to_pandas")
        return frames.to_pandas(self.to_arrow(), pandas, how)

    def to_polars(self, *, lazy: bool = False) -> Any:
        """All rows as a DataFrame of Polars; with `lazy` a LazyFrame, of which a query reads only
        the columns and the number of rows that it uses, and leaves out files by its filter.

        Raises EnvironmentMismatchError if Polars is not installed.
        """
        polars = optional.library("polars", "to_polars")
        if not lazy:
            return polars.from_arrow(self.to_arrow())
        register = optional.library("polars.io.plugins", "to_polars").register_io_source
        schema = polars.from_arrow(self.schema.empty_table()).schema
        return register(partial(_frames, self, schema), schema=schema)

    def to_duckdb(self, connection: Any, name: str) -> Any:
        """The rows as a view of that name in a connection of DuckDB; each query reads them anew.
        Returns the connection. Raises EnvironmentMismatchError if DuckDB is not installed.
        """
        optional.library("duckdb", "to_duckdb")
        connection.register(name, self)
        return connection

    def narrowed(self, columns: list[str] | None, limit: int | None) -> Readable:
        """Rows with some of the columns, and at most `limit`; all where reading less saves
        no work.
        """
        return self

    def filtered(self, expression: Any, schema: Any) -> Readable:
        """All rows for which an expression of Polars is true, and others; as far as reading less
        saves work. `schema` is that of the rows, in Polars.
        """
        return self

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C stream interface."""
        return self.to_reader().__arrow_c_stream__(requested_schema)


def _frames(
    rows: Readable,
    schema: Any,
    with_columns: list[str] | None,
    predicate: Any,
    n_rows: int | None,
    batch_size: int | None,
) -> Iterator[Any]:
    """The rows that a query of Polars asks for: some columns, and the first rows that pass its own
    filter, which Polars applies here.
    """
    polars = optional.library("polars", "to_polars")
    if predicate is None:
        asked = rows.narrowed(with_columns, n_rows)
    else:
        asked = rows.narrowed(with_columns, None).filtered(predicate, schema)
    for batch in asked.to_batches():
        frame = polars.from_arrow(batch)
        frame = frame if with_columns is None else frame.select(with_columns)
        frame = frame if predicate is None else frame.filter(predicate)
        if n_rows is not None:
            frame, n_rows = frame.head(n_rows), max(0, n_rows - len(frame))
        yield frame
        if n_rows == 0:
            return
