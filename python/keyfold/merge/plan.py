"""The plan of a merge: the engine of a table and the columns it reads and emits. It is made once a
scan or write.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from keyfold.aggregates.declaration import BadRecord
from keyfold.errors import TableError
from keyfold.lazy import cached_property
from keyfold.merge import averages
from keyfold.merge.column_aggregate import normalizers
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep
from keyfold.merge.engines import engine
from keyfold.merge.field_options import check_field_options, check_initial, stored_functions
from keyfold.merge.kinds import Kinds
from keyfold.merge.marks.mark_columns import Bits, Marks
from keyfold.merge.results import key_words
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout


@dataclass(frozen=True)
class MergePlan:
    """The way in which the rows of one table fold.

    `output` are the user columns that come out. `reads` are the columns every input batch must hold
    (output, key, sequence fields and the columns the engine needs, in table order). `key` is the
    key a bucket is sorted by. With `marks` results that may have something older below them carry
    `_NAMED` and `_OVERWRITTEN`. With `is_unique` two records of a key that are no -D are an error,
    with `counts_deletes` any two. The columns `firsts` are those of the first record of a key.
    """

    layout: TableLayout
    options: TableOptions
    output: tuple[str, ...]
    reads: tuple[str, ...]
    key: tuple[str, ...]
    engine: Engine = field(repr=False)
    bits: Bits
    marks: bool
    fold: Fold = field(repr=False)
    schema: pa.Schema = field(repr=False)
    is_unique: bool = False
    counts_deletes: bool = False
    firsts: tuple[str, ...] = ()

    def normalized(
        self, batch: pa.RecordBatch, columns: Iterable[str], *, overwrites: bool
    ) -> pa.RecordBatch:
        """The rows that a job writes. The `columns` that it names are in the form that their
        functions fold: counts, encodings.

        Raises TableError, with column and key, if a value has no such form.
        """
        if not self.engine.folds_columns:
            return batch
        batch = averages.filled(self.layout, batch, set(columns), overwrites=overwrites)
        found = normalizers(self.layout, self.options, overwrites=overwrites)
        for name in found.keys() & set(columns):
            place = batch.schema.get_field_index(name)
            try:
                column = found[name](batch.column(place))
            except BadRecord as error:
                values = dict(zip(batch.schema.names, batch.columns, strict=True))
                key = key_words(self.layout, values, error.group)
                where = f"table {self.layout.name}, column {name}, key ({key})"
                raise TableError(f"{where}: {error}") from error
            batch = batch.set_column(place, batch.schema.field(place), column)
        return batch

    def check_kinds(self, kinds: Kinds) -> None:
        """Raises TableError if the engine can't fold a kind of incoming rows."""
        self.engine.check_kinds(self.layout, self.options, kinds)

    @property
    def decide(self) -> tuple[str, ...]:
        """The columns by which rows are ordered. With `keeps_records` they alone decide which of
        the records of a key is its result.
        """
        names = {*self.key, *self.options.sequence_fields}
        return tuple(name for name in self.reads if name in names)

    @property
    def keeps_records(self) -> bool:
        """Whether a result is one of the records as it came."""
        return self.engine.keeps_records

    @cached_property
    def retaining(self) -> tuple[str, ...]:
        """The columns for which it matters for ever that no record has named them yet."""
        retains = self.engine.retains_nulls
        return tuple(n for n in self.bits.names if retains(self.layout, self.options, n))

    @property
    def marks_retractions(self) -> bool:
        """Whether rows may carry marks that retractions leave."""
        return self.marks and self.engine.part_marks is not None and not self.options.ignore_delete

    def part_marks(self, step: MergeStep, folded: Folded, marks: Marks) -> Marks:
        """The marks of the row of each group, with those that its retractions leave."""
        if not self.marks_retractions or self.engine.part_marks is None or step.kinds is None:
            return marks
        columns = dict(zip(self.output, folded.arrays, strict=True))
        return self.engine.part_marks(self.layout, self.options, step, folded, columns, marks)

    @property
    def deletes_clear(self) -> bool:
        """Whether a -D leaves nothing of the values that the row's columns have folded."""
        return self.engine.deletes_clear(self.options) and not self.keeps_records


def plan_merge(
    layout: TableLayout, output: Sequence[str], *, marks: bool = False, is_unique: bool = False
) -> MergePlan:
    """The plan that emits `output`. With `marks` some rows may be partial, overwrite, or begin with
    a delete. Raises TableError if engine, aggregates and types don't fit together.
    """
    options = parse(layout)
    declared = engine(options.merge_engine, layout.name)
    needed = {*output, *layout.key, *options.sequence_fields}
    needed |= {*declared.needs(layout, options, output)}
    return MergePlan(
        layout=layout,
        options=options,
        output=tuple(output),
        reads=tuple(column.name for column in layout.columns if column.name in needed),
        key=layout.key,
        engine=declared,
        bits=Bits.of(layout),
        marks=marks,
        fold=declared.prepare(layout, options, output),
        schema=pa.schema([layout.column(name).arrow_field for name in output]),
        is_unique=is_unique,
    )


def check_mergeable(layout: TableLayout, columns: Sequence[str] | None = None) -> None:
    """Refuses on the driver, before any task has begun, what the tasks of this session could not
    merge to these columns, all by default: functions that it lacks, for example.
    """
    plan_merge(layout, layout.arrow_schema.names if columns is None else columns)


def check(layout: TableLayout, before: TableLayout | None = None) -> TableLayout:
    """The layout as it is stored: other systems' names of functions become Paimon's.

    The check refuses unknown engines, functions, field options, types they don't take, conflicts:
    the merge can't do these. After an ALTER of `before`, unchanged options are left alone.
    """
    settled = averages.settled(stored_functions(layout))
    check_field_options(settled, {} if before is None else before.options)
    options = parse(settled)
    averages.check(settled, options, before)
    engine(options.merge_engine, layout.name).check(settled, options)
    check_initial(settled, options)
    return settled
