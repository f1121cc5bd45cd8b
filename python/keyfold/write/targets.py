"""The columns that a write names, and whether it folds or replaces them: options `target-columns`
and `merge_mode` of a job, checked on the driver (Fluss' partial update and merge mode).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from keyfold.errors import TableError
from keyfold.ids.filling import explicit
from keyfold.merge.averages import check_parts_left, with_parts
from keyfold.merge.engines import engine
from keyfold.options import fluss
from keyfold.options.declared import TableOptions
from keyfold.options.ids import id_column
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout, quoted

DEFAULT, OVERWRITE = "default", "overwrite"
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^`,]*))\s*(?:,|$)")


def named_columns(
    layout: TableLayout, text: str | None, mode: str, *, by_option: bool = False
) -> tuple[str, ...] | None:
    """The columns that `target-columns` names, in table order; None if it names all. The
    auto-increment column counts as named, but for the option itself (`by_option`), as in Fluss:
    there a -D of the other columns leaves the row, as the id has a value.

    `text` joins names by commas; a name with a comma is in backticks. Letter case counts only if
    columns differ in nothing else. Raises TableError if the table takes no partial writes, a name
    is unknown, the key is not whole, or another column is NOT NULL, as a partial write may make a
    row that lacks it. An INSERT OVERWRITE (`mode`) makes whole rows and may name NOT NULL columns.
    """
    if text is None:
        return None
    _check_engine(layout)
    check_ids_left(layout, text)
    names = [_column(layout, name) for name in names_of(text)]
    options = parse(layout)
    filled = options.id_columns  # by tasks, as are those that each write sets
    check_parts_left(layout, options, names)
    names += (*filled, *options.on_write)
    names = [*names, *(with_parts(layout, options, names) - set(names))]
    missing = [name for name in layout.primary_key if name not in names]
    if missing:
        raise TableError(
            f"table {layout.name}: The target write columns [{', '.join(names)}] must contain the "
            f"primary key columns [{', '.join(layout.primary_key)}]."
        )
    if len(set(names)) == len(layout.columns):
        return tuple(c.name for c in layout.columns) if by_option and filled else None
    for column in layout.columns:
        is_left = mode == "append" or column.name not in names
        if column.name not in layout.primary_key and not column.type.nullable and is_left:
            raise TableError(
                f"table {layout.name}: Partial Update requires all columns except primary key to "
                f"be nullable, but column {column.name} is NOT NULL."
            )
    return tuple(column.name for column in layout.columns if column.name in names)


def check_ids_left(layout: TableLayout, text: str | None) -> None:
    """Raises TableError if `text`, as of `target-columns`, names the auto-increment column; `*` is
    all columns.
    """
    name = id_column(parse(layout))
    if name is None or text is None:
        return
    if text == "*":
        raise explicit(layout.name, name, f"this table has auto increment column [{name}]")
    if name.lower() in map(str.lower, names_of(text)):
        raise explicit(layout.name, name, "the statement names it")


def merge_mode(layout: TableLayout, text: str | None, named: Sequence[str] | None = None) -> str:
    """The `merge_mode` of a job that names these columns.

    Raises TableError if it is another word, if the table merges nothing that could be overwritten,
    or if the job overwrites some columns without the sequence that orders them: any columns if
    there is a `sequence.field`, or a part of a sequence group.
    """
    mode = (text or DEFAULT).strip().lower()
    if mode not in (DEFAULT, OVERWRITE):
        raise TableError(
            f"option merge_mode of a write to table {layout.name}: expected {DEFAULT} or "
            f"{OVERWRITE}, found '{text}'"
        )
    options = parse(layout)
    if mode == OVERWRITE and options.engine.is_default and options.version_column is None:
        raise TableError(
            f"table {layout.name}: MergeMode OVERWRITE is only supported where rows fold, "
            f"and with merge-engine = {options.merge_engine} every write replaces the row that is "
            "stored: leave merge_mode out"
        )
    if mode == OVERWRITE and named is not None:
        _check_sequences(layout, options, named)
    return mode


def _check_sequences(layout: TableLayout, options: TableOptions, named: Sequence[str]) -> None:
    """Raises TableError if the result of later records in the overwritten columns would depend on
    the stored sequence, which a job does not know.
    """
    where = f"table {layout.name}, option merge_mode: some columns [{', '.join(named)}] can't be"
    if options.sequence_fields:
        raise TableError(
            f"{where} overwritten, because sequence.field = {','.join(options.sequence_fields)} "
            "orders whole records; name all columns"
        )
    for group in engine(options.merge_engine, layout.name).sequences(options):
        left = [name for name in group.columns if name not in named]
        if left and len(left) < len(group.columns):
            raise TableError(
                f"{where} overwritten without the others of their group, {group.option} = "
                f"{','.join(group.protected)}; name {', '.join(left)} too"
            )


def leaves_others(layout: TableLayout) -> bool:
    """Whether a write of some columns leaves the others alone."""
    options = parse(layout)
    return options.engine.folds_columns or options.partial_insert


def _check_engine(layout: TableLayout) -> None:
    options = parse(layout)
    if options.version_column is not None or not options.engine.takes_partial_writes:
        shown = fluss.engine_name(options.engine, options.version_column)
        raise TableError(
            f"table {layout.name}: Partial update is not supported for the {shown} merge engine."
        )


def target_text(names: Iterable[str]) -> str:
    """The text of `target-columns` for these names."""
    return ",".join(quoted(name) for name in names)


def names_of(text: str) -> Sequence[str]:
    """The names in such a text, without their backticks."""
    names, at = [], 0
    while at < len(text):
        found = _NAME.match(text, at)
        if found is None:
            raise TableError(f"option target-columns: expected names and commas, found '{text}'")
        quoted, plain = found.groups()
        names.append(plain.strip() if quoted is None else quoted.replace("``", "`"))
        at = found.end()
    return names


def _column(layout: TableLayout, name: str) -> str:
    if layout.has_column(name):
        return name
    alike = [c.name for c in layout.columns if c.name.lower() == name.lower()]
    if not alike:
        raise TableError(f"Can not find target column: {name} for table {layout.name}.")
    return alike[0]
