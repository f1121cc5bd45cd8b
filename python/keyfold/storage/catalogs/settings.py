"""The settings that each kind of catalog reads; others are refused, with the nearest known one."""

import difflib
from collections.abc import Mapping

from keyfold.errors import TableError
from keyfold.storage.catalogs.jdbc_names import JDBC_SETTINGS
from keyfold.storage.jdbc.address import PROPERTY, is_jdbc
from keyfold.storage.rest.client import is_rest
from keyfold.stores import settings

_ALWAYS = ("warehouse", "type", "metastore", "uri")
# Settings that begin with these go to the client of a store, or of a REST server, unchanged.
_OF_STORES = (
    *("fs.", "s3.", "s3a.", "gcs.", "gs.", "google.", "azure."),
    *("hdfs.", "hadoop.", "dfs.", "security."),
)
_OF_SERVERS = ("token.", "data-token.", "dlf.", "header.", "http.", "http-client.", "io-cache.")
_REST = (("token", "prefix"), _OF_SERVERS)
_JDBC = (JDBC_SETTINGS, (PROPERTY,))
_ALIKE = 0.92  # as `s3.acces-key`, not as `fs.oss.endpoint`


def check_settings(catalog: str, options: Mapping[str, str]) -> None:
    """Raises TableError if nobody reads a setting; the error names the one that is most like it."""
    of_kind = _REST if is_rest(options) else _JDBC if is_jdbc(options) else ((), ())
    known = [*_ALWAYS, *settings.NAMES, *of_kind[0]]
    passed = (*_OF_STORES, *of_kind[1])
    for given in options:
        name = given.removeprefix(settings.OF_SESSION)
        if name in known:
            continue
        place = given if given != name else f"spark.sql.catalog.{catalog}.{name}"
        is_passed = name.startswith(passed)
        near = difflib.get_close_matches(name, known, 1, _ALIKE if is_passed else 0.6)
        if near or not is_passed:
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TableError(
                f"catalog {catalog}: setting {place} is unknown{hint} "
                f"(known: {', '.join(known[: len(_ALWAYS)])}, and those of the store; in Python "
                "connect also takes threads, memory, lookup_memory and modules)"
            )
