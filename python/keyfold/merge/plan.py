"""The plan of a merge: the engine of a table and the columns it reads and emits; made once a scan
or write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from keyfold import options as table_options
from keyfold.aggregates.declare import BadRecord
from keyfold.errors import TableError
from keyfold.layout import TableLayout
from keyfold.merge.declare import Fold
from keyfold.merge.engines import engine
from keyfold.merge.field_options import check_field_options, stored_functions
from keyfold.merge.functions import Normalize, normalizers
from keyfold.merge.kinds import Kinds
from keyfold.merge.results import key_words
from keyfold.options import TableOptions


@dataclass(frozen=True)
class MergePlan:
    """How the rows of one table fold.

    `output` are the user columns that come out, `reads` those every input batch must hold (output,
    key, sequence fields and what the engine needs, in table order); `key` is the key a bucket is
    sorted by. `check_kinds` is the engine's, `normalizers` are by column.
    """

    layout: TableLayout
    options: TableOptions
    output: tuple[str, ...]
    reads: tuple[str, ...]
    key: tuple[str, ...]
    keeps_records: bool
    fold: Fold = field(repr=False)
    schema: pa.Schema = field(repr=False)
    check_kinds: Callable[[TableLayout, TableOptions, Kinds], None] = field(repr=False)
    normalizers: Mapping[str, Normalize] = field(repr=False, default_factory=dict)

    def normalized(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows that a job writes, in the form their columns' functions fold: counts, encodings.

        TableError naming column and key for a value that has no such form.
        """
        for name, normalize in self.normalizers.items():
            place = batch.schema.get_field_index(name)
            try:
                column = normalize(batch.column(place))
            except BadRecord as error:
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                key = key_words(self.layout, columns, error.group)
                where = f"table {self.layout.name}, column {name}, key ({key})"
                raise TableError(f"{where}: {error}") from error
            batch = batch.set_column(place, batch.schema.field(place), column)
        return batch


def plan(layout: TableLayout, output: Sequence[str]) -> MergePlan:
    """The plan that emits `output`; TableError where engine, aggregates and types don't fit
    together.
    """
    options = table_options.parse(layout)
    declared = engine(options.merge_engine, layout.name)
    needed = {*output, *layout.key, *options.sequence_fields}
    needed |= {*declared.needs(layout, options, output)}
    return MergePlan(
        layout=layout,
        options=options,
        output=tuple(output),
        reads=tuple(column.name for column in layout.columns if column.name in needed),
        key=layout.key,
        keeps_records=declared.keeps_records,
        fold=declared.prepare(layout, options, output),
        schema=pa.schema([layout.column(name).arrow_field for name in output]),
        check_kinds=declared.check_kinds,
        normalizers=normalizers(layout, options) if declared.takes_functions else {},
    )


def check(layout: TableLayout, before: TableLayout | None = None) -> TableLayout:
    """The layout as it is stored: other systems' names of functions become Paimon's.

    Refuses what the merge can't do: unknown engines, functions and field options, types they don't
    take, conflicts. After an ALTER of `before`, options that it did not change are left alone.
    """
    settled = stored_functions(layout)
    check_field_options(settled, {} if before is None else before.options)
    options = table_options.parse(settled)
    engine(options.merge_engine, layout.name).check(settled, options)
    return settled
