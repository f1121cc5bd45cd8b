"""The marks of partial and overwriting writes: the columns a record names and those it replaces.

A record of such a write has two more system columns, texts that join field ids of columns outside
the primary key by commas. `_NAMED`: the columns it holds a value of, null = all; the others are
passed over. `_OVERWRITTEN`: the columns whose value replaces earlier ones and is not folded with
them, null = none, `*` = all, today's and later ones. One of these that is not named has no value
from then on. With every engine, records before one that overwrites all don't matter.

A -D that has an `_OVERWRITTEN` (Fluss' delete of a partial write) leaves the row only if some
column outside the key is not NULL; one with `*` removes it. In memory marks are bits: bit 0 means
that `_OVERWRITTEN` is not null; then there is one bit for each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.kernels.buffers import Rows, Words
from keyfold.kernels.groups.any_of import unite_words
from keyfold.kernels.ops import DELETE
from keyfold.lazy import cached_property
from keyfold.merge.column_results import combine
from keyfold.merge.kinds import Kinds
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import EVERYTHING, NAMED, OVERWRITTEN

FIELDS = (pa.field(NAMED, pa.utf8()), pa.field(OVERWRITTEN, pa.utf8()))

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Bits:
    """The bits of the columns outside the primary key; `ids` are their field ids."""

    names: tuple[str, ...]
    ids: tuple[int, ...]

    @staticmethod
    def of(layout: TableLayout) -> Bits:
        """The bits of a table."""
        own = [column for column in layout.columns if column.name not in layout.primary_key]
        return Bits(tuple(c.name for c in own), tuple(c.id for c in own))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The bit numbers by column name; key columns have no bit."""
        return {name: bit for bit, name in enumerate(self.names, 1)}

    @property
    def words(self) -> int:
        """The number of 64-bit words of a record."""
        return len(self.names) // 64 + 1

    @cached_property
    def full(self) -> Words:
        """The bits of all columns."""
        return self.pack(range(1, len(self.names) + 1))

    def pack(self, bits: Sequence[int]) -> Words:
        """Words with these bits set."""
        number = sum(1 << bit for bit in bits)
        return np.frombuffer(number.to_bytes(8 * self.words, "little"), dtype="<u8")

    def of_text(self, text: str | None, column: str) -> Words:
        """The bits of a stored text; ids that the table no longer has are passed over."""
        if text is None:
            return self.full if column == NAMED else self.pack([])
        row = [0] if column == OVERWRITTEN else []
        if text == EVERYTHING:
            return self.full | self.pack(row)
        ids = {int(part) for part in text.split(",") if part}
        return self.pack(row + [bit for bit, own in enumerate(self.ids, 1) if own in ids])

    def to_text(self, words: Words, column: str) -> str | None:
        """The stored text of bits."""
        number = int.from_bytes(words.tobytes(), "little")
        everything = int.from_bytes(self.full.tobytes(), "little")
        if number & everything == everything:
            return None if column == NAMED else EVERYTHING
        if column == OVERWRITTEN and not number:
            return None
        return ",".join(str(own) for bit, own in enumerate(self.ids, 1) if number >> bit & 1)

    def of_column(self, texts: pa.Array, column: str) -> RowWords:
        """The words of a stored column."""
        if texts.null_count == len(texts):
            return RowWords(self.of_text(None, column)[None, :], np.zeros(len(texts), np.int32))
        encoded = texts.dictionary_encode(null_encoding="encode")
        words = [self.of_text(text, column) for text in encoded.dictionary.to_pylist()]
        distinct = np.array(words, dtype=np.uint64).reshape(len(words), self.words)
        return RowWords(distinct, encoded.indices.to_numpy())

    def to_column(self, words: RowWords, column: str) -> pa.Array:
        """The stored column of words."""
        distinct, which = words.distinct, words.which
        if which is None:
            distinct, which = self._distinct(distinct)
        texts = pa.array([self.to_text(bits, column) for bits in distinct], pa.utf8())
        if len(texts) == 1:
            return pa.repeat(texts[0], len(which))
        return texts.take(pa.array(which))

    def _distinct(self, words: Words) -> tuple[Words, npt.NDArray[np.int32]]:
        """The distinct ones of some words, and which of them each is."""
        first = words[:1]
        if len(words) and (words == first).all():
            return first, np.zeros(len(words), np.int32)
        kind = pa.binary(8 * self.words) if self.words > 1 else pa.uint64()
        buffer = pa.py_buffer(np.ascontiguousarray(words))
        encoded = pa.Array.from_buffers(kind, len(words), [None, buffer]).dictionary_encode()
        held = encoded.dictionary.buffers()[-1]  # of fixed width, one after another
        found = np.frombuffer(held, np.uint64, len(encoded.dictionary) * self.words)
        return found.reshape(-1, self.words), encoded.indices.to_numpy()


@dataclass(frozen=True)
class RowWords:
    """Words of some rows. Those of stored rows are few: the `distinct` ones, and `which` of them
    each row has, so that a question about words is asked once for each of them.
    """

    distinct: Words
    which: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.distinct if self.which is None else self.which)

    @cached_property
    def rows(self) -> Words:
        """The words of each row."""
        return self.distinct if self.which is None else self.distinct[self.which]

    def of_each(self, found: Flags) -> Flags:
        """The flags of rows, given those of distinct words."""
        if self.which is None:
            return found
        if found.all() or not found.any():
            return np.full(len(self), bool(len(found)) and bool(found[0]))
        flags: Flags = found[self.which]
        return flags

    def united(self, order: Rows, starts: Rows) -> RowWords:
        """One row of words for each group, with the bits of all its rows."""
        out = np.empty((len(starts) - 1, self.distinct.shape[1]), dtype=np.uint64)
        which = np.arange(len(self)) if self.which is None else self.which
        own = np.require(self.distinct, requirements=("C", "W"))  # kernels take no read-only arrays
        unite_words(own, np.require(which, np.int32, ("C", "W")), order, starts, out)
        return RowWords(out)

    def take(self, rows: Rows | Flags) -> RowWords:
        """The words of some rows."""
        if self.which is None:
            return RowWords(self.distinct[rows])
        return RowWords(self.distinct, self.which[rows])


@dataclass(frozen=True)
class Marks:
    """The marks of some rows."""

    bits: Bits
    named: RowWords
    replaced: RowWords

    def __len__(self) -> int:
        return len(self.named)

    def passes_over(self, column: str) -> bool:
        """Whether no row has a mark of a column: all name it, none replaces it."""
        named = self._has(self.named.distinct, column, True)
        return bool(named.all()) and not self._has(self.replaced.distinct, column, False).any()

    def names(self, column: str) -> Flags:
        """Whether each row names a column; all rows name the key."""
        return self.named.of_each(self._has(self.named.distinct, column, True))

    def replaces(self, column: str) -> Flags:
        """Whether each row replaces the earlier value of a column."""
        return self.replaced.of_each(self._has(self.replaced.distinct, column, False))

    def _has(self, words: Words, column: str, otherwise: bool) -> Flags:
        bit = self.bits.places.get(column)
        if bit is None:
            return np.full(len(words), otherwise)
        flags: Flags = (words[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1)) == 1
        return flags

    @cached_property
    def is_marked(self) -> Flags:
        """Whether each row has an `_OVERWRITTEN`."""
        found: Flags = (self.replaced.distinct[:, 0] & np.uint64(1)) == 1
        return self.replaced.of_each(found)

    @cached_property
    def is_whole(self) -> Flags:
        """Whether each row replaces everything."""
        everything = self.bits.full | self.bits.pack([0])
        found: Flags = (self.replaced.distinct & everything == everything).all(axis=1)
        return self.replaced.of_each(found)

    @cached_property
    def has_whole(self) -> bool:
        """Whether some row replaces everything."""
        return bool(self.is_whole.any())

    @cached_property
    def are_whole(self) -> bool:
        """Whether each row that has a mark replaces everything, and names every column."""
        everything = self.bits.full | self.bits.pack([0])
        replaced = self.replaced.distinct
        flags = (replaced & everything == everything).all(axis=1) | (replaced == 0).all(axis=1)
        return bool(flags.all()) and bool((self.named.distinct == self.bits.full).all())

    def is_pending(self, kinds: Kinds) -> Flags:
        """Whether each row is a delete of some columns: if others have values, a row stays."""
        flags: Flags = (kinds == DELETE) & self.is_marked & ~self.is_whole
        return flags

    def take(self, rows: Rows | Flags) -> Marks:
        """The marks of some rows."""
        return Marks(self.bits, self.named.take(rows), self.replaced.take(rows))

    def united(self, order: Rows, starts: Rows) -> Marks:
        """One row of marks for each group: the columns that any of its rows names or replaces."""
        return Marks(
            self.bits, self.named.united(order, starts), self.replaced.united(order, starts)
        )

    def _with(self, named: Words, replaced: Words) -> Marks:
        return Marks(self.bits, RowWords(named), RowWords(replaced))

    def everything(self, flags: Flags) -> Marks:
        """Marks whose flagged rows replace everything."""
        if not flags.any():
            return self
        everything = self.bits.full | self.bits.pack([0])
        added = np.where(flags[:, None], everything, np.uint64(0))
        return self._with(self.named.rows, self.replaced.rows | added)

    def replacing_nothing(self, flags: Flags) -> Marks:
        """Marks whose flagged rows replace nothing."""
        return self._with(
            self.named.rows, np.where(flags[:, None], np.uint64(0), self.replaced.rows)
        )

    def replacing(self, column: str, flags: Flags) -> Marks:
        """Marks whose flagged rows replace a column by nothing."""
        if not flags.any():
            return self
        bits = self.bits.pack([0, self.bits.places[column]])
        added = np.where(flags[:, None], bits, np.uint64(0))
        return self._with(self.named.rows, self.replaced.rows | added).without(column, flags)

    def plain(self, flags: Flags) -> Marks:
        """Marks whose flagged rows have none."""
        if not flags.any():
            return self
        named = np.where(flags[:, None], self.bits.full, self.named.rows)
        return self._with(named, np.where(flags[:, None], np.uint64(0), self.replaced.rows))

    def without(self, column: str, flags: Flags) -> Marks:
        """Marks whose flagged rows don't name a column."""
        if not flags.any():
            return self
        bit = self.bits.pack([self.bits.places[column]])
        removed = np.where(flags[:, None], bit, np.uint64(0))
        return self._with(self.named.rows & ~removed, self.replaced.rows)

    def naming(self, columns: Sequence[str]) -> Marks:
        """The marks of rows with nothing older below: only which of `columns` they name."""
        others = self.bits.full & ~self.bits.pack([self.bits.places[name] for name in columns])
        return self._with(self.named.rows | others, np.zeros_like(self.replaced.rows))

    def arrays(self) -> list[pa.Array]:
        """The columns `_NAMED` and `_OVERWRITTEN`."""
        return [
            self.bits.to_column(self.named, NAMED),
            self.bits.to_column(self.replaced, OVERWRITTEN),
        ]


def marks_of(bits: Bits, batches: Sequence[pa.RecordBatch]) -> Marks | None:
    """The marks of all rows of batches; None if no row has any."""
    if not any(is_marked(batch) for batch in batches):
        return None
    columns = []
    for name in (NAMED, OVERWRITTEN):
        texts = combine([_texts(batch, name) for batch in batches])
        columns.append(bits.of_column(texts, name))
    return Marks(bits, *columns)


def unmarked(bits: Bits, rows: int) -> Marks:
    """The marks of rows that have none."""
    full, which = bits.full[None, :], np.zeros(rows, dtype=np.int32)
    return Marks(bits, RowWords(full, which), RowWords(np.zeros_like(full), which))


def mark_columns(marks: Marks | None, rows: int) -> list[pa.Array]:
    """The columns `_NAMED` and `_OVERWRITTEN` of some rows."""
    return [pa.nulls(rows, pa.utf8())] * 2 if marks is None else marks.arrays()


def with_marks(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the columns of marks: its own, or null ones."""
    if NAMED in batch.schema.names:
        return batch
    nulls = [pa.nulls(batch.num_rows, field.type) for field in FIELDS]
    schema = pa.schema([*batch.schema, *FIELDS])
    return pa.RecordBatch.from_arrays([*batch.columns, *nulls], schema=schema)


def is_marked(batch: pa.RecordBatch) -> bool:
    """Whether some row of a batch has a mark."""
    for name in (NAMED, OVERWRITTEN):
        place = batch.schema.get_field_index(name)
        if place >= 0 and batch.column(place).null_count < batch.num_rows:
            return True
    return False


def _texts(batch: pa.RecordBatch, name: str) -> pa.Array:
    place = batch.schema.get_field_index(name)
    return pa.nulls(batch.num_rows, pa.utf8()) if place < 0 else batch.column(place)
