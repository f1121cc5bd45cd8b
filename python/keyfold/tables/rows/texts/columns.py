"""Many texts as a column of a type. Texts in the usual spelling are converted by Arrow at once;
others, and columns that Arrow refuses, one distinct text after another.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.tables.rows.conversions.columns import converted
from keyfold.tables.rows.texts.atoms import Unread
from keyfold.tables.rows.texts.nested import of_cell
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic, DataType, name_of


class UnreadAt(Exception):
    """The first text of a column that is not of its type, and its place."""

    def __init__(self, place: int, error: Unread) -> None:
        super().__init__(place)
        self.place, self.error = place, error


def column_of(texts: pa.Array, kind: DataType) -> pa.Array:
    """The values, in the type's Arrow type. Raises UnreadAt if a text is not of the type."""
    if name_of(kind) == "STRING":
        return texts
    found = _at_once(texts, kind)
    return _one_by_one(texts, kind) if found is None else found


def _at_once(texts: pa.Array, kind: DataType) -> pa.Array | None:
    pattern = _usual(kind)
    if pattern is None:
        return None
    if pc.all(pc.match_substring_regex(texts, f"^(?:{pattern})$")).as_py() is False:
        return None
    try:
        found = pc.cast(texts, to_arrow(kind))
    except pa.ArrowInvalid:
        return None
    is_floating = pa.types.is_floating(found.type)
    return None if is_floating and pc.any(pc.is_inf(found)).as_py() else found


def _usual(kind: DataType) -> str | None:
    if not isinstance(kind, Atomic):
        return None
    if kind.name == "DECIMAL" and kind.length:
        scale = kind.scale or 0
        before = kind.length - scale
        behind = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
        return f"-?[0-9]{{1,{before}}}{behind}" if before else None
    return kind.facts.usual or None


def _one_by_one(texts: pa.Array, kind: DataType) -> pa.Array:
    encoded = texts.dictionary_encode()
    values = []
    for place, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            values.append(of_cell(text, kind))
        except Unread as error:  # distinct texts are in the order in which they came
            raise UnreadAt(pc.index(encoded.indices, place).as_py(), error) from None
    return converted(values, kind, "").take(encoded.indices)
