"""One ORC file as record batches of table columns, decoded by the stripe on the calling thread.

Paimon's Java library writes these files. pyarrow does not show the statistics of their stripes, so
the manifest's decide about whole files, and every row of a file that is opened is decoded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc

from keyfold.errors import NotSupportedError
from keyfold.files import damage, orc
from keyfold.files.column_mapping import StoredColumn
from keyfold.stores.files import Files
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic, DataType, Map, Row
from keyfold.types.type_table import numbers_of, unit_of
from keyfold.wire.specs import DataFile


@dataclass(frozen=True)
class OrcFile:
    """An open file, and the columns that it has."""

    path: str
    is_remote: bool
    source: pa.orc.ORCFile
    names: Sequence[str]

    def rows(self, found: Sequence[StoredColumn], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of each stripe, each column in its stored type."""
        stored = {one.name: one.stored for one in found}
        stripes = orc.stripes(self.path, self.source, names)
        while True:
            with damage.decoding(self.path, is_remote=self.is_remote):
                stripe = next(stripes, None)
                if stripe is None:
                    return
                columns = [
                    _typed(self.path, name, stripe.column(name), stored.get(name)) for name in names
                ]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))


def open_orc(store: Files, path: str, file: DataFile) -> OrcFile:
    """The open file. Reading it raises NotSupportedError if it holds a column in a form whose
    values can't be known.
    """
    source = orc.opened(store, path, file.size)
    if source.nrows != file.rows:
        raise damage.data_file(path, f"expected {file.rows} rows, found {source.nrows}")
    return OrcFile(path, not store.is_local, source, source.schema.names)


def _typed(path: str, name: str, column: pa.Array, stored: DataType | None) -> pa.Array:
    """A column in the Arrow type of its stored type; ORC has times of day as the whole numbers of
    manifests, and CHAR with blanks. Points in time stay in nanoseconds, which are cut where all
    columns are adapted.
    """
    if stored is None:
        return column
    wanted = to_arrow(stored)
    _check_known(path, name, column.type, wanted)
    wanted, unit = _in_nanos(column.type, wanted), unit_of(wanted)
    if unit is not None and pa.types.is_integer(column.type):
        return column.cast(numbers_of(unit)).cast(unit).cast(wanted)
    return _without_blanks(column if column.type == wanted else column.cast(wanted), stored)


def _without_blanks(column: pa.Array, stored: DataType) -> pa.Array:
    """The column with its values of CHAR as they were before ORC padded them."""
    if isinstance(stored, Atomic):
        return pc.utf8_rtrim(column, " ") if stored.name == "CHAR" else column
    if isinstance(stored, Row):
        parts = [_without_blanks(column.field(n), one.type) for n, one in enumerate(stored.fields)]
    elif isinstance(stored, Map):
        pairs = [
            _without_blanks(column.keys, stored.key),
            _without_blanks(column.items, stored.value),
        ]
        entries = (column.type.key_field, column.type.item_field)
        parts = [pa.StructArray.from_arrays(pairs, fields=entries)]
    else:
        parts = [_without_blanks(column.values, stored.element)]
    own = column.buffers()[: 1 if isinstance(stored, Row) else 2]
    return pa.Array.from_buffers(column.type, len(column), own, children=parts)


def _in_nanos(found: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """The wanted type, with the timestamps that were found in it."""
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(found):
        return found
    places = range(wanted.num_fields)
    parts = [
        wanted.field(place).with_type(_in_nanos(found.field(place).type, wanted.field(place).type))
        for place in places
    ]
    if pa.types.is_struct(wanted):
        return pa.struct(parts)
    if pa.types.is_map(wanted):
        return pa.map_(*(parts[0].type.field(place) for place in range(2)))
    return pa.list_(parts[0]) if pa.types.is_list(wanted) else wanted


def _check_known(path: str, name: str, found: pa.DataType, wanted: pa.DataType) -> None:
    """Raises NotSupportedError if a column, or a part of it, holds instants by a time zone that the
    file does not name, or times of day within another value.
    """
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(found):
        if (found.tz is None) != (wanted.tz is None):
            raise NotSupportedError(
                f"column {name} of data file {path} can't be read here: expected instants, found "
                "times without a zone, of the zone that its writer ran in; write the table anew "
                "with orc.timestamp-ltz.legacy.type = false, or leave the column out"
            )
        return
    if found.num_fields != wanted.num_fields:
        raise damage.data_file(path, f"column {name}: expected {wanted}, found {found}")
    for place in range(wanted.num_fields):
        part, of_file = wanted.field(place).type, found.field(place).type
        if unit_of(part) is not None and pa.types.is_integer(of_file):
            raise NotSupportedError(
                f"column {name} of data file {path} can't be read here: it holds values of {part} "
                "as numbers within another value; expected them in Parquet only"
            )
        _check_known(path, name, of_file, part)
