"""Questions about namespaces and tables (driver side); every answer is read anew from the storage.

All carry the catalog's name and options; an `ident` is {"namespace": […], "table": …}. A table is
answered with its description, whose `handle` names it in later questions.
"""

from collections.abc import Callable, Mapping
from typing import Any

from keyfold.layout import TableLayout
from keyfold.merge.plan import check
from keyfold.read.condition import OPERATORS, is_exact
from keyfold.storage.catalog import Catalog, Staged, open_catalog
from keyfold.storage.definition import NewTable
from keyfold.worker import metadata
from keyfold.worker.wire import Frame


def catalog_of(question: Frame) -> Catalog:
    """The catalog a question is about."""
    named = question["catalog"]
    return open_catalog(named["name"], named["options"], check)


def warm(_: Frame) -> None:
    """Nothing: whoever answers this has loaded everything."""


def list_namespaces(question: Frame) -> list[list[str]]:
    """All namespaces."""
    return catalog_of(question).list_namespaces()


def load_namespace(question: Frame) -> dict[str, str]:
    """Its properties."""
    return catalog_of(question).load_namespace(question["namespace"])


def create_namespace(question: Frame) -> None:
    """Make it, with properties."""
    catalog_of(question).create_namespace(question["namespace"], question["properties"])


def alter_namespace(question: Frame) -> None:
    """Set and unset properties."""
    catalog = catalog_of(question)
    catalog.alter_namespace(question["namespace"], question["set"], question["unset"])


def drop_namespace(question: Frame) -> bool:
    """Remove it; false if there is none."""
    return catalog_of(question).drop_namespace(question["namespace"], question["cascade"])


def list_tables(question: Frame) -> list[str]:
    """Names of a namespace's tables."""
    return catalog_of(question).list_tables(question["namespace"])


def load_table(question: Frame) -> dict[str, Any]:
    """The table at its newest schema and snapshot, or what a name with a `$` shows of one."""
    table, view = metadata.find(catalog_of(question), *ident(question))
    return table.describe() | {"pushdown": pushdown(table.layout)} | view


def pushdown(layout: TableLayout) -> dict[str, Any]:
    """What Spark may leave to scans: conditions of these operators over these columns, and MIN and
    MAX of these.
    """
    exact = [column.name for column in layout.columns if is_exact(layout, column.name)]
    return {
        "columns": [name for name in exact if name in layout.primary_key],
        "operators": list(OPERATORS),
        "extremes": exact,
    }


def create_table(question: Frame) -> dict[str, Any]:
    """Make an empty table."""
    new = NewTable.from_json(question)
    return catalog_of(question).create_table(*ident(question), new).describe()


def alter_table(question: Frame) -> dict[str, Any]:
    """Apply all changes or none."""
    return catalog_of(question).alter_table(*ident(question), question["changes"]).describe()


def drop_table(question: Frame) -> bool:
    """Remove it; false if there is none."""
    return catalog_of(question).drop_table(*ident(question))


def rename_table(question: Frame) -> None:
    """Give it another name."""
    to = question["to"]
    catalog_of(question).rename_table(*ident(question), to["namespace"], to["table"])


def stage_table(question: Frame) -> dict[str, Any]:
    """Make an empty table aside, which takes its place once it is committed."""
    catalog = catalog_of(question)
    staged = catalog.stage(*ident(question), NewTable.from_json(question), question["mode"])
    return catalog.staged_table(staged).describe() | {"staged": staged.to_json()}


def commit_staged(question: Frame) -> None:
    """Put a staged table in its place."""
    catalog_of(question).commit_staged(Staged.from_json(question["staged"]))


def abort_staged(question: Frame) -> None:
    """Remove a staged table."""
    catalog_of(question).abort_staged(Staged.from_json(question["staged"]))


def ident(question: Frame) -> tuple[list[str], str]:
    """Namespace and name of the table a question is about."""
    return question["ident"]["namespace"], question["ident"]["table"]


QUESTIONS: Mapping[str, Callable[[Frame], Any]] = {
    function.__name__: function
    for function in (
        warm,
        list_namespaces,
        load_namespace,
        create_namespace,
        alter_namespace,
        drop_namespace,
        list_tables,
        load_table,
        create_table,
        alter_table,
        drop_table,
        rename_table,
        stage_table,
        commit_staged,
        abort_staged,
    )
}
