"""An ALTER TABLE as changes of Paimon's REST protocol, which a server applies to its schema.

The server renames columns in options by itself, after it has set options. What it does there is
reckoned here, so that an ALTER whose outcome would be another one is refused before it is sent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.storage.schema import fields
from keyfold.storage.schema.alter import Step
from keyfold.storage.schema.alter_columns import Change
from keyfold.storage.schema.schemas import StoredSchema, as_json
from keyfold.types import logical
from keyfold.types.paimon import to_paimon
from keyfold.wire.layout import TableLayout, sql_name

Json = dict[str, Any]
_LISTS = ("bucket-key", "sequence.field")  # options of column names
_OF_COLUMN = ("aggregate-function", "ignore-retract", "distinct", "list-agg-delimiter")
_OF_COLUMNS = ("sequence-group", "nested-key")


def server_changes(before: StoredSchema, after: StoredSchema, took: Sequence[Step]) -> list[Json]:
    """The changes to ask of a server for the way from one schema to the other; `took` are the
    steps of it. Raises NotSupportedError, with nothing asked, if it would make another schema.
    """
    steps = [(step, _path(step.change)) for step in took if "name" in step.change]
    for step, path in steps:
        _check(step.before.layout, step.change, path)
    columns = [one for s, path in steps for one in _column(s.after.layout, s.change, path)]
    renames = [(path[0], s.change["to"]) for s, path in steps if s.change["change"] == _RENAME]
    found = before.layout.comment != after.layout.comment
    comment = [{"action": "updateComment", "comment": after.layout.comment}] if found else []
    return [*columns, *_defaults(before, after), *_options(before, after, renames), *comment]


def is_alike(one: StoredSchema, other: StoredSchema) -> bool:
    """Whether two schemas are the same but for their ids and those of their fields."""
    return bool(_plain(one) == _plain(other))


def _plain(schema: StoredSchema) -> Any:
    left_out = ("id", "highestFieldId", "timeMillis", "version")
    found = {name: value for name, value in as_json(schema).items() if name not in left_out}
    text = json.dumps(found, sort_keys=True)
    return json.loads(text, object_hook=lambda one: {k: v for k, v in one.items() if k != "id"})


_RENAME = "rename_column"


def _path(change: Change) -> tuple[str, ...]:
    name = change["name"]
    return (name,) if isinstance(name, str) else tuple(name)


def _row(layout: TableLayout) -> logical.Row:
    return logical.Row(
        tuple(logical.Field(c.id, c.name, c.type, c.comment) for c in layout.columns)
    )


def _check(layout: TableLayout, change: Change, path: tuple[str, ...]) -> None:
    """Raises NotSupportedError if the protocol can't name what is changed."""
    if change["change"] == "update_column_position" and len(path) > 1:
        raise _refused(layout, path, "a field inside a column can't be moved")
    kind: logical.DataType = _row(layout)
    for step in path:
        match kind:
            case logical.Map() if step == "key":
                raise _refused(layout, path, "the key of a MAP can't be changed")
            case logical.Map(_, inner) | logical.Array(inner):
                kind = inner
            case logical.Row(found):
                kind = next((f.type for f in found if f.name == step), logical.Row(()))


def _refused(layout: TableLayout, path: tuple[str, ...], text: str) -> NotSupportedError:
    return NotSupportedError(
        f"ALTER TABLE {layout.name}, column {sql_name(*path)}: {text} through a REST catalog"
    )


def _column(after: TableLayout, change: Change, path: tuple[str, ...]) -> Iterator[Json]:
    kind, names = change["change"], list(path)
    if kind == "add_column":
        yield _added(after, change, path)
    elif kind == _RENAME:
        yield {"action": "renameColumn", "fieldNames": names, "newName": change["to"]}
    elif kind == "delete_column":
        yield {"action": "dropColumn", "fieldNames": names}
    elif kind == "update_column_comment":
        comment = change.get("comment") or None
        yield {"action": "updateColumnComment", "fieldNames": names, "newComment": comment}
    elif kind == "update_column_nullability":
        told = bool(change["nullable"])
        yield {"action": "updateColumnNullability", "fieldNames": names, "newNullability": told}
    elif kind == "update_column_position":
        yield {"action": "updateColumnPosition", "move": _move(path[-1], change["position"])}
    elif kind == "update_column_type":
        made = {"newDataType": to_paimon(_type(after, path)), "keepNullability": True}
        yield {"action": "updateColumnType", "fieldNames": names} | made


def _type(layout: TableLayout, path: Sequence[str]) -> logical.DataType:
    return fields.type_at(_row(layout), path)


def _added(after: TableLayout, change: Change, path: tuple[str, ...]) -> Json:
    parent = _type(after, path[:-1])
    assert isinstance(parent, logical.Row), path
    field = parent.fields[fields.position(parent.fields, path[-1])]
    return {
        "action": "addColumn",
        "fieldNames": list(path),
        "dataType": to_paimon(field.type),
        "comment": field.comment,
        "move": _move(field.name, change.get("position")),
    }


def _move(name: str, place: Mapping[str, str] | None) -> Json:
    kind = "LAST" if place is None else "FIRST" if "first" in place else "AFTER"
    beside = place["after"] if kind == "AFTER" and place is not None else None
    return {"fieldName": name, "referenceFieldName": beside, "type": kind}


def _defaults(before: StoredSchema, after: StoredSchema) -> list[Json]:
    """Changes of DEFAULTs in Paimon's own field, which a column keeps that is renamed."""
    names = {column.id: column.name for column in after.layout.columns}
    kept = {
        names[column.id]: before.literals[column.name]
        for column in before.layout.columns
        if column.id in names and column.name in before.literals
    }
    return [
        {"action": "updateColumnDefaultValue", "fieldNames": [name], "newDefaultValue": text}
        for name in names.values()
        if (text := after.literals.get(name)) != kept.get(name)
    ]


def _options(
    before: StoredSchema, after: StoredSchema, renames: Sequence[tuple[str, str]]
) -> list[Json]:
    old, wanted = before.layout.options, after.layout.options
    made = _renamed(old, renames)
    set_to = {name: text for name, text in wanted.items() if made.get(name) != text}
    removed = [name for name in old if name in made and name not in wanted]
    left = {name: text for name, text in old.items() if name not in removed} | set_to
    if _renamed(left, renames) != wanted:
        raise NotSupportedError(
            f"ALTER TABLE {before.layout.name}: through a REST catalog, whose server would give "
            f"options that name {', '.join(name for name, _ in renames)} another meaning: rename "
            "it in a statement of its own, or set these options first"
        )
    return [
        *({"action": "removeOption", "key": name} for name in removed),
        *({"action": "setOption", "key": name, "value": set_to[name]} for name in set_to),
    ]


def _renamed(options: Mapping[str, str], renames: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The options that a server makes of renames. A field's path counts by its first name."""
    made, to = dict(options), dict(renames)

    def listed(text: str) -> str:
        return ",".join(to.get(name, name) for name in text.split(","))

    if not renames:
        return made
    made |= {name: listed(options[name]) for name in _LISTS if options.get(name, "").strip()}
    for old, new in renames:
        for suffix in _OF_COLUMN:
            if f"fields.{old}.{suffix}" in made:
                made[f"fields.{new}.{suffix}"] = made.pop(f"fields.{old}.{suffix}")
    for name in options:
        for suffix in _OF_COLUMNS:
            if name.startswith("fields.") and name.endswith(f".{suffix}"):
                columns = name.removeprefix("fields.").removesuffix(f".{suffix}")
                made[f"fields.{listed(columns)}.{suffix}"] = listed(made.pop(name))
    return made
