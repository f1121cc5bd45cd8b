"""Questions about views (driver side): Spark resolves their queries, the catalog stores them."""

from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.errors import NoSuchTableError, TableError
from keyfold.questions.catalog import catalog_of, load_table, table_of
from keyfold.questions.serve import Questions
from keyfold.storage.catalogs.views import StoredView, new_view
from keyfold.storage.rest.client import DeniedError
from keyfold.types.spark import column_json
from keyfold.wire.layout import sql_name

QUESTIONS = Questions()


@QUESTIONS.look
def list_views(question: Frame) -> list[str]:
    """Names of a namespace's views."""
    return catalog_of(question).list_views(question["namespace"])


@QUESTIONS.look
def load_relation(question: Frame) -> dict[str, Any]:
    """The table of a name, as `load_table` has it, or {"sql_view"} if it is a view's."""
    try:
        return load_table(question)
    except NoSuchTableError as missing:
        catalog, namespace, name = table_of(question)
        try:
            return {"sql_view": described(catalog.load_view(namespace, name))}
        except (NoSuchTableError, DeniedError):
            raise missing from None


def described(view: StoredView) -> dict[str, Any]:
    """The view in the form in which the JVM gives it, too."""
    comment = {} if view.comment is None else {"comment": view.comment}
    return {
        "query": view.query,
        "columns": [column_json(one.name, one.type, one.comment) for one in view.columns],
        "properties": {**view.properties, **comment},
        "current_catalog": view.current_catalog,
        "current_namespace": list(view.current_namespace),
        "settings": dict(view.settings),
        "schema_mode": view.schema_mode,
        "query_columns": list(view.query_columns),
    }


@QUESTIONS.plain
def set_view(question: Frame) -> None:
    """Make or replace it, by question["mode"]."""
    catalog, namespace, name = table_of(question)
    shown = sql_name(catalog.name, *namespace, name)
    if "/" in name:
        raise TableError(f"view {shown} can't be made at a path: expected namespace.view")
    catalog.set_view(namespace, name, new_view(shown, question["view"]), question["mode"])


@QUESTIONS.plain
def drop_view(question: Frame) -> bool:
    """Remove it; false if it is not there."""
    catalog, namespace, name = table_of(question)
    return catalog.drop_view(namespace, name)


@QUESTIONS.plain
def rename_view(question: Frame) -> None:
    """Give it another name."""
    catalog, namespace, name = table_of(question)
    to, renamed = question["to"]["namespace"], question["to"]["table"]
    catalog.rename_view(namespace, name, to, renamed)
