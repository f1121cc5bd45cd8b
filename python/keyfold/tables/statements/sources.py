"""The source of a MERGE: rows in any form, whole in memory, with columns of any name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from keyfold.tables.rows import optional
from keyfold.tables.rows.conversions.atoms import plain
from keyfold.tables.rows.conversions.unfit import Given, matched, shown
from keyfold.tables.rows.frames import of_arrow, of_pandas
from keyfold.tables.rows.incoming import FORMS, is_unnamed
from keyfold.tables.statements.expressions import AssignedValues, whole


def source(values: AssignedValues, data: Any) -> pa.Table:
    """The rows as a table without encodings. Dictionaries have the types of the table's columns
    where they name them, and those that Arrow finds elsewhere; other forms bring their own. An
    empty list has no columns. Raises TableError if it is none of the forms, or a value has no type.
    """
    try:
        found = _table(values, data)
        columns = [plain(whole(column)) for column in found.columns]
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise values.refused(f"expected {FORMS}: {error}") from error
    names = found.schema.names
    lower = [name.lower() for name in names]
    if repeated := [name for place, name in enumerate(names) if lower[place] in lower[:place]]:
        raise values.refused(f"column {repeated[0]} of the source comes twice")
    return pa.table(columns, names)


def _table(values: AssignedValues, data: Any) -> pa.Table:
    known = [column.name for column in values.layout.columns]
    if optional.is_of("pandas", data) and hasattr(data, "columns"):
        names, columns = of_pandas(data, lambda name: matched(known, name) is not None)
        return _of_columns(values, dict(zip(names, columns, strict=True)))
    if (reader := of_arrow(data)) is not None:
        return reader.read_all()
    if isinstance(data, Mapping | str | bytes) or not isinstance(data, Iterable):
        raise values.refused(f"expected {FORMS}, found {type(data).__name__}")
    rows = list(data)
    if not rows:
        return pa.table({})  # of which nobody knows the columns
    if unnamed := next(filter(is_unnamed, rows), None):
        raise values.refused(f"expected {FORMS}, found one of {type(unnamed).__name__}")
    if all(isinstance(row, Mapping) for row in rows):
        rows = _renamed(values, rows)
        found = dict.fromkeys(name for row in rows for name in row)
        if not found:
            raise values.refused("the rows of the source have no columns")
        return _of_columns(values, {name: [row.get(name) for row in rows] for name in found})
    return pa.concat_tables([_table(values, row) for row in rows])


def _renamed(values: AssignedValues, rows: Iterable[Any]) -> list[dict[str, Any]]:
    """The dictionaries, each column by the name that the first of them gives it: Spark, and writes
    of dictionaries, take names in other letter case for the same.
    """
    spelled: dict[str, str] = {}
    made = []
    for row in rows:
        names = [spelled.setdefault(str(name).lower(), str(name)) for name in row]
        if repeated := [name for at, name in enumerate(names) if name in names[:at]]:
            raise values.refused(f"column {repeated[0]} comes twice in the row {shown(row)}")
        made.append(dict(zip(names, row.values(), strict=True)))
    return made


def _of_columns(values: AssignedValues, columns: Mapping[str, Given]) -> pa.Table:
    """Lists take the type of the table's column of their name."""
    known = [column.name for column in values.layout.columns]
    made = {}
    for name, given in columns.items():
        own = matched(known, name)
        if isinstance(given, list) and own is not None:
            made[name] = values.converted(values.layout.column(own), given, None)
        else:
            made[name] = pa.array(given) if isinstance(given, list) else given
    return pa.table(made)
