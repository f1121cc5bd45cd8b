"""listagg: the non-null texts in merge order, a delimiter between two (Paimon FieldListaggAgg;
Fluss LISTAGG and STRING_AGG).

Blank texts (nothing but whitespace) are left out: Paimon's rule. Fluss keeps them;
`list-agg-skip-blank` chooses the rule. The blank text of a -D that removed a row is left out too,
as a compaction would not tell it from one that was added. With `distinct` the first text stays as
it is. Later texts add only those parts between delimiters that are new and not blank.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.collect import DISTINCT
from keyfold.aggregates.declaration import (
    Accepts,
    Aggregate,
    Fold,
    FoldResult,
    Inputs,
    Parameter,
    Records,
    Settings,
)
from keyfold.kernels.array_tuples import Texts, texts_of
from keyfold.kernels.buffers import Mask, Rows, pack
from keyfold.kernels.folds.texts import Joint, Parts, join_distinct, join_texts
from keyfold.kernels.ops import ADD, RESET, SKIP
from keyfold.options.values import boolean
from keyfold.types.logical import DataType, describe, name_of

DELIMITER = Parameter("list-agg-delimiter", str, ",", "The text between two joined texts.")
SKIPS_BLANK = Parameter(
    "list-agg-skip-blank",
    boolean,
    "true",
    "Whether listagg leaves out texts of whitespace alone; `fields.<column>.agg`, Fluss' name of "
    "`aggregate-function`, sets it to false.",
)
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2028\u2029\u205f\u3000" + "".join(
    map(chr, {*range(0x2000, 0x200B)} - {0x2007})
)
MOST_BYTES = (1 << 31) - 1


def _bytes(letters: str) -> Mask:
    return np.frombuffer(bytearray(letters.encode()), dtype=np.uint8)


def joined(delimiter: str, distinct: bool, skips_blank: bool, inputs: Inputs) -> FoldResult:
    """The texts of each group as `definition` joins them."""
    texts, groups = texts_of(inputs.column), inputs.records
    separator = _bytes(_separator(delimiter))
    splits_again = not delimiter or _may_overlap(delimiter)
    joint = Joint(_bytes(delimiter), separator, splits_again, skips_blank)
    lengths = np.diff(texts.offsets)[inputs.order]
    room = int(lengths.sum()) + len(joint.delimiter) * len(lengths)
    offsets, valid = np.empty(inputs.groups + 1, np.int64), np.empty(inputs.groups, np.uint8)
    out = Texts(offsets, np.empty(room, dtype=np.uint8), valid)
    if distinct:
        parts = _table(lengths // len(separator) + 1, inputs.starts)
        join_distinct(texts, groups, joint, parts, out)
    else:
        join_texts(texts, groups, joint, out)
    return FoldResult(_array(inputs.column.type, *out))


def _separator(delimiter: str) -> str:
    """The text by which texts are split: the delimiter, or as in Paimon a space if it is empty."""
    return delimiter or " "


def _may_overlap(delimiter: str) -> bool:
    """Whether the delimiter begins as it ends, so that it may be found across its edge."""
    return any(delimiter.endswith(delimiter[:size]) for size in range(1, len(delimiter)))


def _table(most: Rows, starts: Rows) -> Parts:
    """An empty hash table with room for the parts of any group."""
    sums = np.concatenate(([0], np.cumsum(most)))[starts]
    size = 1 << int(2 * np.diff(sums).max(initial=1)).bit_length()
    return Parts(np.full(size, -1, dtype=np.int64), np.empty(2 * size, dtype=np.int64))


def _array(kind: pa.DataType, offsets: Rows, data: Mask, valid: Mask) -> pa.Array:
    """The array of the texts. It has 64-bit offsets if 32-bit ones do not reach far enough."""
    total = int(offsets[-1])
    if types.is_string(kind) and total > MOST_BYTES:
        kind = pa.large_string()
    bounds = offsets if types.is_large_string(kind) else offsets.astype(np.int32)
    buffers = [pack(valid), pa.py_buffer(bounds), pa.py_buffer(data[:total])]
    return pa.Array.from_buffers(kind, len(valid), buffers)


def definition(delimiter: str, distinct: bool, skips_blank: bool, records: Records) -> Any:
    """Texts joined one by one."""
    if len(records) == 1:
        return None if records[0][0] == SKIP else records[0][1]
    is_nothing: Callable[[Any], bool] = lambda item: (  # noqa: E731
        item is None or (skips_blank and not item.strip(_SPACES))
    )
    result: str | None = None
    for op, item in records:
        if op == RESET:
            result = None if is_nothing(item) else item
        elif op != ADD or is_nothing(item):
            continue
        elif result is None:
            result = item
        elif distinct:
            result += "".join(delimiter + part for part in _new_parts(delimiter, result, item))
        else:
            result += delimiter + item
    return result


def _new_parts(delimiter: str, stored: str, added: str) -> list[str]:
    separator = _separator(delimiter)
    seen, found = set(stored.split(separator)), []
    for part in added.split(separator):
        if part.strip(_SPACES) and part not in seen:
            seen.add(part)
            found.append(part)
    return found


def _refuses(kind: DataType) -> str | None:
    words = describe(kind)
    if name_of(kind) in ("STRING", "CHAR"):  # Fluss declares CHAR too, and stores the padded texts
        return None
    return f"Data type for list agg column must be STRING (unbounded VARCHAR), but was {words}."


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    own = [settings[option.name] for option in (DELIMITER, DISTINCT, SKIPS_BLANK)]
    return replace(LISTAGG, fold=partial(joined, *own), definition=partial(definition, *own))


LISTAGG = Fold(
    "listagg",
    Accepts("'VarCharType'", types.is_string),
    partial(definition, ",", False, True),
    aliases=("string_agg",),
    parameters=(DELIMITER, DISTINCT, SKIPS_BLANK),
    bind=_bind,
    refuses=_refuses,
    fold=partial(joined, ",", False, True),
    summary="the texts joined with a delimiter, `distinct` or not",
    nulls="NULL and blank texts are left out",
    retraction="refused",
)
