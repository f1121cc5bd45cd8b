"""Views of a warehouse: a file `.views/<name>.json` in the folder of their namespace, or a row.

Paimon's warehouses have no place for views, but the databases of newer JDBC catalogs have. A view
is made exclusively and replaced in one step. A table is looked for before a view is made, and the
other way; other engines' tables come without looking, and two jobs may look at once: where both
are, the table counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from keyfold.errors import CorruptDataError
from keyfold.storage.catalogs.namespaces import Namespace, Namespaces, check_name, is_plain
from keyfold.storage.catalogs.views import (
    CREATE,
    REPLACE,
    StoredView,
    from_json,
    may_be,
    missing_view,
    taken,
    to_json,
)
from keyfold.storage.metadata.documents import document
from keyfold.wire.layout import sql_name


@dataclass(frozen=True)
class WarehouseViews:
    """The views of the catalog of that name; `is_table` says whether a table has a name."""

    catalog: str
    namespaces: Namespaces
    is_table: Callable[[Namespace, str], bool]

    def _shown(self, namespace: Namespace, name: str) -> str:
        return sql_name(self.catalog, *namespace, name)

    def names(self, namespace: Namespace) -> list[str]:
        """Their names in a namespace, sorted."""
        database = self.namespaces.require(namespace)
        names = sorted(self.namespaces.views(database))
        tables = {*self.namespaces.tables(database)} if names else set()
        hidden = {n for n in names if n in tables and self.is_table(namespace, n)}
        return [name for name in names if may_be(name) and name not in hidden]

    def has(self, namespace: Namespace, name: str) -> bool:
        """Whether that view is stored."""
        if not self.namespaces.owns_folders or len(namespace) != 1:
            return False
        is_possible = is_plain(namespace[0]) and may_be(name)  # else a path out of the warehouse
        return is_possible and self.namespaces.has_view(namespace[0], name)

    def load(self, namespace: Namespace, name: str) -> StoredView:
        """The view. Raises NoSuchTableError if it is missing or a table, CorruptDataError if its
        file can't be understood.
        """
        shown = self._shown(namespace, name)
        if not self.has(namespace, name) or self.is_table(namespace, name):
            raise missing_view(shown, is_table=self.is_table(namespace, name))
        try:
            read = document(self.namespaces.read_view(namespace[0], name))
            return from_json(shown, self.catalog, namespace[0], read)
        except FileNotFoundError:
            raise missing_view(shown, is_table=False) from None
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            place = self.namespaces.view_place(namespace[0], name)
            raise CorruptDataError(
                f"view {shown}: {place} can't be read: {error!r}; DROP VIEW it (in Python "
                "catalog.drop_view) and make it anew"
            ) from error

    def set(self, namespace: Namespace, name: str, view: StoredView, mode: str) -> None:
        """Make or replace a view, in one step."""
        check_name("view", name)
        database = self.namespaces.require(namespace)
        self._check_no_table(namespace, name, mode)
        if mode == REPLACE and not self.has(namespace, name):
            raise missing_view(self._shown(namespace, name), is_table=False)
        with self.namespaces.locked((database, name)):
            if mode == CREATE:
                self._create(namespace, name, view)
            else:
                self.namespaces.replace_view(database, name, to_json(view))

    def _check_no_table(self, namespace: Namespace, name: str, mode: str) -> None:
        if self.is_table(namespace, name):
            shown = self._shown(namespace, name)
            raise missing_view(shown, is_table=True) if mode == REPLACE else taken("table", shown)

    def _create(self, namespace: Namespace, name: str, view: StoredView) -> None:
        if not self.namespaces.add_view(namespace[0], name, to_json(view)):
            raise taken("view", self._shown(namespace, name))
        if self.is_table(namespace, name):  # made since it was looked for
            self.namespaces.remove_view(namespace[0], name)
            raise taken("table", self._shown(namespace, name))

    def drop(self, namespace: Namespace, name: str) -> bool:
        """Remove a view, even one that can't be read; False if there is none."""
        if not self.has(namespace, name) or self.is_table(namespace, name):
            return False
        self.namespaces.remove_view(namespace[0], name)
        return True

    def rename(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        """Store a view under another name, then remove the old one: no store has a rename of a file
        that replaces nothing, and a job that ends between leaves both.
        """
        self.set(to_namespace, to_name, self.load(namespace, name), CREATE)
        self.namespaces.remove_view(namespace[0], name)
