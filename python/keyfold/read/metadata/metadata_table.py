"""Declares metadata tables, and makes batches of their rows.

A table is a list of columns, each with Paimon's name and type and a function from an item (a
snapshot, a file …) to its value. Only the columns that are asked for are computed: statistics of a
hundred thousand files are decoded only if somebody looks at them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import CorruptDataError, TableError
from keyfold.lazy import cached_property
from keyfold.read.metadata.asked_partitions import asked_partitions
from keyfold.storage.table import Table
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from keyfold.wire.predicates import Predicate

BATCH_ROWS = 1 << 13
INSTANT = "TIMESTAMP(3)"
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?")


@dataclass(frozen=True)
class MetadataColumn:
    """One column: Paimon's name and type (JSON), and its value; epoch millis for an INSTANT."""

    name: str
    kind: Any
    value: Callable[[Any], Any]

    @cached_property
    def type(self) -> logical.DataType:
        """The type, parsed."""
        return paimon_types.from_paimon(self.kind)

    @property
    def is_instant(self) -> bool:
        """Whether its values are points in time, shown as the wall clock of a zone."""
        return isinstance(self.kind, str) and self.kind.startswith(INSTANT)

    @cached_property
    def field(self) -> pa.Field:
        """The name, Arrow type and nullability."""
        return pa.field(self.name, arrow_types.to_arrow(self.type), self.type.nullable)

    def to_json(self) -> dict[str, Any]:
        """The column in the JVM's form."""
        kind = spark_types.to_spark(self.type)
        return {"name": self.name, "type": kind, "nullable": self.type.nullable}

    def array(self, items: Sequence[Any], zone: str) -> pa.Array:
        """Its values for some items."""
        try:
            values = list(map(self.value, items))
            is_plain = not self.is_instant
            return pa.array(values, self.field.type) if is_plain else wall_clock(values, zone)
        except (pa.ArrowException, OverflowError, ValueError, TypeError, LookupError) as error:
            raise CorruptDataError(
                f"column {self.name} of a metadata table can't be shown, as what is stored is of "
                f"no such kind: {error!r:.300}"
            ) from error


@dataclass(frozen=True)
class MetadataTable:
    """A metadata table: its name after the `$`, its columns, and an item for each row. If it is
    `by_partition`, its items are told the partitions that are asked for, None for all.
    """

    name: str
    columns: tuple[MetadataColumn, ...]
    items: Callable[..., Iterable[Any]]
    by_partition: bool = False

    def wanted(self, names: Sequence[str]) -> list[MetadataColumn]:
        """Columns by name, in the order asked for."""
        by_name = {column.name: column for column in self.columns}
        if missing := [name for name in names if name not in by_name]:
            raise TableError(
                f"${self.name} has no column {missing[0]}; it has {', '.join(by_name)}"
            )
        return [by_name[name] for name in names]

    def batches(
        self,
        table: Table,
        names: Sequence[str],
        zone: str,
        filters: Sequence[Predicate] = (),
        limit: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Its rows with these columns; points in time are shown by the clock of `zone`. Rows that
        do not satisfy the filters may be among them, and no more rows than the limit.
        """
        wanted = self.wanted(names)
        schema = pa.schema([column.field for column in wanted])
        own = (asked_partitions(table.layout, filters),) if self.by_partition else ()
        items = itertools.islice(self.items(table, *own), limit)
        while chunk := list(itertools.islice(items, BATCH_ROWS)):
            arrays = [column.array(chunk, zone) for column in wanted]
            yield _batch(arrays, schema, len(chunk))


def _batch(arrays: list[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    if not arrays:  # COUNT(*)
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def columns(*declared: tuple[str, Any, Callable[[Any], Any]]) -> tuple[MetadataColumn, ...]:
    """Columns as (name, type, value)."""
    return tuple(MetadataColumn(*column) for column in declared)


def wall_clock(millis: Sequence[int | None], zone: str) -> pa.Array:
    """Epoch millis as TIMESTAMP without time zone: the time that a clock in `zone` showed.

    Paimon's TIMESTAMP(3) has no zone. Java fills it with the clock of its JVM. Spark compares it
    with points in time through its session's zone, so `zone` should be that one.
    """
    plain = pa.array(millis, pa.int64())
    offset = _OFFSET.fullmatch(zone)
    if offset is not None:
        sign, hours, minutes, seconds = offset.groups(default="0")
        shift = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * (-1 if sign == "-" else 1)
        local = pc.add(plain, shift * 1000).cast(pa.timestamp("ms"))
    else:
        name = "UTC" if zone == "Z" else zone
        local = pc.local_timestamp(plain.cast(pa.timestamp("ms", name)))
    return local.cast(pa.timestamp("us"))
