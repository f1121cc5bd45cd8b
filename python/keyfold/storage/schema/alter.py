"""ALTER TABLE: changes to the newest schema, published exclusively as the next version."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from keyfold.errors import NotSupportedError, TableError
from keyfold.files.footers import footer_of
from keyfold.options.auto_cdc import KEYS_OF_CDC, as_seen
from keyfold.options.changelogs import changelog_level
from keyfold.options.names import is_fixed, normalize
from keyfold.options.parsing import parse
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import Snapshots
from keyfold.storage.schema.alter_columns import Change, Stored, change_column
from keyfold.storage.schema.definition import Check, check_altered, named_key
from keyfold.storage.schema.schemas import Schemas, StoredSchema
from keyfold.stores.files import Files
from keyfold.wire.layout import TableLayout, sql_name
from keyfold.wire.specs import EVERYTHING, OVERWRITTEN


@dataclass(frozen=True)
class Step:
    """One change of an ALTER TABLE, and the schema before and after it."""

    change: Change
    before: StoredSchema
    after: StoredSchema


@dataclass(frozen=True)
class Altering:
    """A table that is altered: its schemas, its snapshots, and what checks a new layout."""

    schemas: Schemas
    snapshots: Snapshots
    check_engine: Check
    live_files: Callable[[], Iterable[LiveFile]] = tuple

    def changed(
        self, current: StoredSchema, changes: Sequence[Change], took: list[Step] | None = None
    ) -> StoredSchema:
        """The schema after all changes, the same object if they change nothing. Those that change
        something are added to `took`.
        """
        made = current
        newest = self.snapshots.latest()
        if newest is not None:
            self.schemas.check_there(newest.schema_id)  # else another one would take its id
        stored = Stored(
            newest is not None,
            partial(_may_delete_columns, self.schemas.files, current.layout, self.live_files),
        )
        for change in _without_key_nulls(changes, current.layout):
            before, made = made, _apply(made, change, stored)
            if took is not None and made is not before:
                took.append(Step(change, before, made))
        if made is current:
            return current
        layout = check_altered(current.layout, made.layout, self.check_engine)
        _check_told(current.layout, layout, self.live_files)
        return replace(made, layout=layout)


def alter(altering: Altering, changes: Sequence[Change]) -> None:
    """Apply all changes or none, on top of another ALTER if one comes in between."""
    altering.schemas.change("ALTER TABLE", partial(altering.changed, changes=changes))


def _check_told(
    before: TableLayout, after: TableLayout, live_files: Callable[[], Iterable[LiveFile]]
) -> None:
    """Raises NotSupportedError if `changelog-producer` changes while there are files whose changes
    one producer has written and the other has not: they would be written twice, or never.
    """
    old, new = parse(before), parse(after)
    if old.changelog_producer == new.changelog_producer:
        return
    least = max(changelog_level(old), changelog_level(new))
    if any(file.level < least for file in live_files()):
        raise NotSupportedError(
            f"ALTER TABLE {after.name}: changelog-producer can't be changed from "
            f"{old.changelog_producer} to {new.changelog_producer} while there are files below "
            f"level {least}, as their changes would be written twice or never: first CALL "
            "sys.compact(table => …, compact_strategy => 'full'); in Python table.compact('full')"
        )


def _may_delete_columns(
    files: Files, layout: TableLayout, live_files: Callable[[], Iterable[LiveFile]]
) -> bool:
    """Whether a -D that names some columns may be stored, as the footers of files tell."""
    return any(
        file.is_marked and file.delete_rows != 0 and not _replaces_all(files, layout, file)
        for file in live_files()
    )


def _replaces_all(files: Files, layout: TableLayout, file: LiveFile) -> bool:
    """Whether all records with an `_OVERWRITTEN`, as a -D of some columns has, replace all."""
    metadata = footer_of(files, f"{file.folder(layout)}/{file.name}", file.size).metadata
    at = metadata.schema.names.index(OVERWRITTEN)
    found = [metadata.row_group(n).column(at).statistics for n in range(metadata.num_row_groups)]
    return all(
        one is not None and one.has_min_max and one.min == one.max == EVERYTHING for one in found
    )


def _without_key_nulls(changes: Sequence[Change], layout: TableLayout) -> list[Change]:
    """The changes; columns of the key stay what CREATE makes of them if a pipeline of Spark's says
    that they may be NULL. It does so at each run, as its definitions can't say otherwise.
    """
    key = as_seen(layout).primary_key
    names = [*key, *([name] for name in key)]
    return [one for one in changes if one.get("is_statement", True) or one["name"] not in names]


def _apply(schema: StoredSchema, change: Change, stored: Stored) -> StoredSchema:
    kind = change["change"]
    if kind == "set_property":
        return _set_property(schema, change["key"], change["value"], stored.has_data)
    if kind in ("unset_property", "remove_property"):
        return _unset_property(schema, change["key"], stored.has_data)
    if kind == "add_constraint":
        raise NotSupportedError(
            f"ALTER TABLE {schema.layout.name}: ADD CONSTRAINT is not supported: {change['sql']} "
            "would not be enforced; PRIMARY KEY, at CREATE, is the only table constraint here"
        )
    if kind == "drop_constraint":
        raise NotSupportedError(
            f"ALTER TABLE {schema.layout.name}: DROP CONSTRAINT {sql_name(change['name'])} is not "
            "supported: PRIMARY KEY is the only table constraint here, and stays"
        )
    return change_column(schema, change, stored)


def _set_property(schema: StoredSchema, key: str, value: str, has_data: bool) -> StoredSchema:
    layout = schema.layout
    if key == "comment":
        return replace(schema, layout=replace(layout, comment=value or None))
    if _is_as_stored(layout, key, value):
        return schema
    if key == KEYS_OF_CDC and named_key({**layout.options, key: value}) != layout.primary_key:
        raise TableError(
            f"ALTER TABLE {layout.name}: property {key} is {value}, but the table's primary key "
            f"({', '.join(layout.primary_key)}) can't be changed: a full refresh of the flow's "
            "target makes both tables anew"
        )
    if is_fixed(key, None, has_data=False):
        _check_mutable(layout, key, has_data)
    for name, text in normalize({key: value}).items():
        if layout.options.get(name) != text:
            _check_mutable(layout, name, has_data)
        layout = replace(layout, options={**layout.options, name: text})
    return replace(schema, layout=layout)


def _is_as_stored(layout: TableLayout, key: str, value: str) -> bool:
    """Whether a property, which is not an option, names what the table has."""
    if key == "primary-key":
        return named_key({key: value}) == layout.primary_key
    return key == "provider" and value == "keyfold"


def _unset_property(schema: StoredSchema, key: str, has_data: bool) -> StoredSchema:
    layout = schema.layout
    if key == "comment":
        return replace(schema, layout=replace(layout, comment=None))
    for name in normalize({key: ""}):
        if name in layout.options or name == "bucket" or is_fixed(name, None, has_data=False):
            _check_mutable(layout, name, has_data or name == "bucket")
        options = {k: v for k, v in layout.options.items() if k != name}
        layout = replace(layout, options=options)
    return replace(schema, layout=layout)


def _check_mutable(layout: TableLayout, name: str, has_data: bool) -> None:
    engine = layout.options.get("merge-engine")
    if is_fixed(name, engine, has_data=False):
        raise TableError(f"ALTER TABLE {layout.name}: property {name} can't be changed")
    if not is_fixed(name, engine, has_data=has_data):
        return
    if name == "bucket":
        raise TableError(
            f"ALTER TABLE {layout.name}: property bucket can't be changed once the table holds "
            "data, whose rows lie in their buckets; CALL sys.rescale(table, buckets), in Python "
            "table.rescale(buckets), rewrites them"
        )
    raise TableError(
        f"ALTER TABLE {layout.name}: property {name} can't be changed once the table holds data; "
        "make a new table and copy"
    )
