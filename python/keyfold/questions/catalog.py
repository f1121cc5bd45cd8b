"""Questions about namespaces and tables (driver side); every answer is read anew from the storage.

All carry the catalog's name and options; an `ident` is {"namespace": […], "table": …}. The answer
about a table is its description, whose `handle` names it in later questions.
"""

import itertools
from collections.abc import Iterable
from typing import Any

from keyfold import dialects
from keyfold.bridge.frames import Frame
from keyfold.errors import TableError
from keyfold.merge.plan import check
from keyfold.options.calls import WRITE, WRITE_ONLY, split
from keyfold.options.names import without_effect
from keyfold.predicates.condition import OPERATORS, is_exact
from keyfold.questions import metadata
from keyfold.questions.serve import Questions
from keyfold.read.folds.pushed import averages, groups, sums
from keyfold.read.nested_pruning import nested
from keyfold.read.provenance import metadata_columns, stored_keys, stored_sequences
from keyfold.storage.catalogs.interface import Catalog, Staged
from keyfold.storage.catalogs.path_tables import NAMELESS, is_path, open_place
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.history import versions
from keyfold.storage.schema import save_as_table
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.schema.statement import new_table
from keyfold.storage.table import open_handle
from keyfold.types.logical import name_of
from keyfold.wire.layout import TableLayout, sql_name

QUESTIONS = Questions()


def catalog_of(question: Frame) -> Catalog:
    named = question["catalog"]
    return open_catalog(named["name"], named["options"], check)


def table_of(question: Frame) -> tuple[Catalog, list[str], str]:
    """The catalog of the table a question is about, the table's namespace there, and its name."""
    namespace, name = question["ident"]["namespace"], question["ident"]["table"]
    if is_path(namespace, name):
        return placed(question, name), [NAMELESS], name
    return catalog_of(question), namespace, name


def placed(question: Frame, path: str) -> Catalog:
    """The catalog of the table at a path."""
    named = question["catalog"]
    return open_place(named["name"], path, named["options"], check)


def holder_of(question: Frame) -> tuple[Catalog, Staged]:
    """The catalog that a staged table will be part of, and the staged table."""
    staged = Staged.from_json(question["staged"])
    is_placed = staged.namespace == NAMELESS
    return (placed(question, staged.table) if is_placed else catalog_of(question)), staged


@QUESTIONS.look
def warm(_: Frame) -> None:
    """Do nothing: the process that answers has loaded everything."""


@QUESTIONS.look
def list_namespaces(question: Frame) -> list[list[str]]:
    """All namespaces."""
    return catalog_of(question).list_namespaces()


@QUESTIONS.look
def load_namespace(question: Frame) -> dict[str, str]:
    """Its properties."""
    return catalog_of(question).load_namespace(question["namespace"])


@QUESTIONS.plain
def create_namespace(question: Frame) -> None:
    """Make it, with properties."""
    catalog_of(question).create_namespace(question["namespace"], question["properties"])


@QUESTIONS.plain
def alter_namespace(question: Frame) -> None:
    """Set and unset properties."""
    catalog = catalog_of(question)
    catalog.alter_namespace(question["namespace"], question["set"], question["unset"])


@QUESTIONS.plain
def drop_namespace(question: Frame) -> bool:
    """Remove it; false if it is not there."""
    return catalog_of(question).drop_namespace(question["namespace"], question["cascade"])


@QUESTIONS.look
def list_tables(question: Frame) -> list[str]:
    """Names of a namespace's tables."""
    return catalog_of(question).list_tables(question["namespace"])


@QUESTIONS.look
def load_table(question: Frame) -> dict[str, Any]:
    """The table at its newest schema and snapshot, or the view of one that a `$` name means; as it
    was at question["version"] or question["timestamp_millis"], if one of them is given.
    """
    table, view = metadata.find(*table_of(question))
    version, millis = question.get("version"), question.get("timestamp_millis")
    if version is not None:
        table = versions.at_version(table, version)
    elif millis is not None:
        table = versions.at_timestamp(table, millis)
    added = {
        "pushdown": pushdown(table.layout),
        "metadata_columns": hidden(table.layout),
        "stored_keys": stored_keys(table.layout),
        "stored_sequences": stored_sequences(table.layout),
    }
    return table.describe() | added | view


def hidden(layout: TableLayout) -> list[dict[str, Any]]:
    """The metadata columns, in the form of a table's columns."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "nullable": column.field.nullable,
            "comment": column.comment,
        }
        for column in metadata_columns(layout)
    ]


def pushdown(layout: TableLayout) -> dict[str, Any]:
    """The work Spark may leave to scans: conditions of certain operators over certain columns, and
    functions of certain columns; scans that fold rows decide about more columns, those of `exact`.
    Parts of `nested` columns may be asked for. The rows of a split are ordered by the columns
    `order`; `unique` if no two are equal there.
    """
    # constants are not compared with BINARY of a length, which other engines alone make
    exact = [
        column.name
        for column in layout.columns
        if is_exact(layout, column.name) and name_of(column.type) != "BINARY"
    ]
    loose = {*layout.partition_keys} - {*layout.primary_key}  # may be NULL: a partition is guessed
    return {
        "columns": [name for name in exact if name in layout.primary_key],
        "exact": [name for name in exact if name not in loose],
        "operators": list(OPERATORS),
        "groups": groups(layout),
        "sums": sums(layout),
        "averages": averages(layout),
        "nested": nested(layout),
        "order": list(itertools.takewhile(exact.__contains__, layout.key)),
        "unique": bool(layout.key) and set(layout.key) <= {*exact},
    }


def defined(question: Frame) -> NewTable:
    """The table that a question's statement defines."""
    catalog, ident = question["catalog"]["name"], question["ident"]
    namespace, name = ident["namespace"], ident["table"]
    shown = sql_name(catalog, *namespace, name)
    if not namespace and not is_path(namespace, name):
        raise TableError(f"table {shown} needs a namespace: {catalog}.default.{name}, for one")
    return new_table(shown, question)


def noted(table: str, options: Iterable[str]) -> dict[str, str]:
    """The note that a statement leaves in the session's log about the options that it names."""
    note = without_effect(table, options)
    return {} if note is None else {"note": note}


@QUESTIONS.plain
def create_table(question: Frame) -> dict[str, Any]:
    """Make an empty table."""
    catalog, namespace, name = table_of(question)
    made = catalog.create_table(namespace, name, defined(question))
    return made.describe() | noted(made.layout.name, made.layout.options)


@QUESTIONS.plain
def alter_table(question: Frame) -> dict[str, Any]:
    """Apply all changes or none. Spark has looked whether the table has a column that is added: if
    it has the same by now, another job needed it too, and this one goes on.
    """
    catalog, namespace, name = table_of(question)
    changes = [
        {**one, "if_not_exists": True} if one["change"] == "add_column" else one
        for one in question["changes"]
    ]
    set_now = [change["key"] for change in changes if change["change"] == "set_property"]
    altered = catalog.alter_table(namespace, name, changes)
    return altered.describe() | noted(altered.layout.name, set_now)


@QUESTIONS.look
def table_options(question: Frame) -> dict[str, str]:
    """The options of a writer that define the table; `write-only` is its job's too."""
    given = question["options"]
    of_table = split(WRITE, question["table"], given, given.get("merge-engine"))[1]
    return of_table | {name: text for name, text in given.items() if name.lower() == WRITE_ONLY}


@QUESTIONS.look
def check_given(question: Frame) -> None:
    """Refuse a writer's key, partitioning or options if the table has others: what a job may have
    for itself is no option of a table that is there.
    """
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    named = question["properties"]
    _, given = split(WRITE, table.layout.name, named, named.get("merge-engine"))
    save_as_table.check_given(table.layout, given, question["partitioning"], check)


@QUESTIONS.plain
def drop_table(question: Frame) -> bool:
    """Remove it; false if it is not there."""
    catalog, namespace, name = table_of(question)
    return catalog.drop_table(namespace, name)


@QUESTIONS.plain
def rename_table(question: Frame) -> None:
    """Give it another name."""
    catalog, namespace, name = table_of(question)
    to, renamed = question["to"]["namespace"], question["to"]["table"]
    if len(to) > 1:
        own = question["catalog"]["name"]
        raise TableError(
            f"table {sql_name(own, *namespace, name)} can't become {sql_name(*to, renamed)}: a "
            f"rename leaves it in its catalog, {own}, whose namespaces have one level; CREATE "
            "TABLE … AS SELECT copies rows to another catalog"
        )
    catalog.rename_table(namespace, name, to, renamed)


@QUESTIONS.plain
def stage_table(question: Frame) -> dict[str, Any]:
    """Make an empty table aside; it takes its place when it is committed."""
    catalog, namespace, name = table_of(question)
    staged = catalog.stage(namespace, name, defined(question), question["mode"])
    made = catalog.staged_table(staged)
    note = noted(made.layout.name, made.layout.options)
    return made.describe() | note | {"staged": staged.to_json()}


@QUESTIONS.plain
def commit_staged(question: Frame) -> None:
    """Put a staged table in its place."""
    catalog, staged = holder_of(question)
    catalog.commit_staged(staged)


@QUESTIONS.plain
def abort_staged(question: Frame) -> None:
    """Remove a staged table."""
    catalog, staged = holder_of(question)
    catalog.abort_staged(staged)


@QUESTIONS.look
def translate(question: Frame) -> dict[str, Any] | None:
    """A statement of another system, which Spark's own parser has refused, in Spark's words:
    {"table", "sql", "is_call"} or {"table", "refused"}; None if it is no statement known here.
    """
    found = dialects.translate(question["sql"])
    if found is None:
        return None
    answer = {"table": list(found.table), "sql": found.sql, "refused": found.refused}
    return answer | {"is_call": found.is_call}
