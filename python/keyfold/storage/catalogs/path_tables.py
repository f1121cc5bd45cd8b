"""Tables named by their path alone: the folder above a table serves as warehouse and namespace.

Such a folder is the user's own. So a table is made only where there is nothing or an empty folder,
and nothing but a table is dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyfold.errors import TableError
from keyfold.storage.catalogs.namespaces import Namespace, Namespaces, check_name
from keyfold.storage.catalogs.warehouse import WarehouseCatalog
from keyfold.storage.schema.definition import Check
from keyfold.stores.opened import open_files

NAMELESS = ""  # the one namespace of a folder


def is_path(namespace: Namespace, name: str) -> bool:
    """Whether an identifier is a path: no namespace, and a slash, which no table's name has."""
    return not namespace and "/" in name


def open_place(
    name: str, path: str, options: Mapping[str, str], check_engine: Check
) -> WarehouseCatalog:
    """The catalog of the table at a path; `name` and `options` are those of the catalog asked.

    Its tables are in the namespace `NAMELESS`, under their whole paths.
    """
    files, folder = open_files(path.rpartition("/")[0] or "/", options)
    return WarehouseCatalog(name, files, Folder(files, folder), check_engine)


@dataclass(frozen=True)
class Folder(Namespaces):
    """A folder of tables; `warehouse` is that folder."""

    owns_folders: ClassVar[bool] = False

    def path(self, name: str) -> str:
        """The folder itself."""
        assert name == NAMELESS, name
        return self.warehouse

    def exists(self, name: str) -> bool:
        """Whether it is `NAMELESS`; the folder is made if it is missing."""
        return name == NAMELESS

    def table_path(self, name: str, table: str) -> str:
        """The table's name, which is its path."""
        assert name == NAMELESS, name
        return table

    def check_table(self, table: str) -> None:
        """Raises TableError if the name has a `$`. The folder's owner may choose any other name."""
        last = table.rpartition("/")[2]
        if "$" in last:
            check_name("table", last)

    def may_hold(self, namespace: Namespace, table: str) -> bool:
        """True: any path may hold a table. Raises TableError if the path is a file's."""
        if self.files.is_local and Path(table).is_file():
            raise TableError(f"{table} is a file: expected the folder of a table")
        return True

    def check_free(self, name: str, table: str) -> None:
        """Raises TableError if the folder is not empty."""
        found = self.files.names(table)
        if found:
            raise TableError(
                f"{table} is no table, and holds {min(found)}: a table is made where there is "
                "nothing, or an empty folder"
            )
