"""The kinds of catalogs whose tables lie in folders, by who keeps their names."""

from collections.abc import Callable, Mapping

from keyfold.errors import NotSupportedError
from keyfold.storage.catalogs.hive_names import hive_names
from keyfold.storage.catalogs.jdbc_names import jdbc_names
from keyfold.storage.catalogs.namespaces import Namespaces
from keyfold.storage.hive.metastore import TYPE as HIVE
from keyfold.storage.jdbc.address import TYPE as JDBC
from keyfold.stores.files import Files

Options = Mapping[str, str]
_FOLDERS = "filesystem"


def _folders(files: Files, warehouse: str, _: Options) -> Namespaces:
    return Namespaces(files, warehouse)


_MAKERS: dict[str, Callable[[Files, str, Options], Namespaces]] = {
    _FOLDERS: _folders,
    "paimon": _folders,
    JDBC: jdbc_names,
    HIVE: hive_names,
}


def maker_of_names(catalog: str, options: Options) -> Callable[[Files, str, Options], Namespaces]:
    """The maker of the namespaces of a catalog with these options. Raises NotSupportedError if the
    kind is unknown.
    """
    kind = options.get("metastore") or options.get("type") or _FOLDERS
    if kind.lower() not in _MAKERS:
        raise NotSupportedError(
            f"catalog {catalog}: type {kind} is not supported, expected {_FOLDERS}, {JDBC}, {HIVE} "
            "or rest"
        )
    return _MAKERS[kind.lower()]
