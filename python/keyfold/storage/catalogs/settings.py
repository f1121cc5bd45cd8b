"""The settings of a catalog: those that are known, and those that its store or server gets.

A misspelt `warehouse` would put tables into the default folder. A misspelt key of a store would ask
it without credentials.
"""

import difflib
from collections.abc import Mapping

from keyfold.errors import TableError
from keyfold.stores import settings

_ALWAYS = ("warehouse", "type", "metastore", "uri")
_REST = ("token", "prefix")
# Settings that begin with these go to the client of a store, or of a REST server, unchanged.
_OF_STORES = ("fs.", "s3.", "s3a.", "gcs.", "gs.", "hdfs.", "hadoop.", "dfs.", "security.")
_OF_SERVERS = ("token.", "data-token.", "dlf.", "header.", "http.", "http-client.", "io-cache.")
_ALIKE = 0.92  # as `s3.acces-key`, not as `fs.oss.endpoint`


def check_settings(catalog: str, options: Mapping[str, str], *, is_rest: bool) -> None:
    """Raises TableError if nobody reads a setting; the error names the one that is most like it."""
    known = [*_ALWAYS, *settings.NAMES, *(_REST if is_rest else ())]
    passed = (*_OF_STORES, *(_OF_SERVERS if is_rest else ()))
    for name in options:
        if name in known:
            continue
        is_passed = name.startswith(passed)
        near = difflib.get_close_matches(name, known, 1, _ALIKE if is_passed else 0.6)
        if near or not is_passed:
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TableError(
                f"catalog {catalog}: setting spark.sql.catalog.{catalog}.{name} is unknown{hint} "
                f"(known: {', '.join(known[: len(_ALWAYS)])}, and those of the store)"
            )
