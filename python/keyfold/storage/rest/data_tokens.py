"""Data tokens: logins to the store of one table, which a REST server hands out for some hours.

The driver asks for one whenever it opens a table, and keeps it until it has less than an hour left,
as Paimon's Java does. Tasks get it with their plan.
"""

import time
from collections.abc import Mapping

from keyfold.errors import NoSuchTableError
from keyfold.resources.cache import Cache
from keyfold.storage.rest.client import MissingError, RestClient, client, is_rest
from keyfold.stores.settings import with_login
from keyfold.wire.layout import sql_name

_SAFE_SECONDS = 3600.0
_Token = tuple[dict[str, str], float]  # settings, and when they end, in seconds since 1970
_TOKENS: Cache[_Token] = Cache(256)


def of_table(options: Mapping[str, str], namespace: str, name: str, uuid: str) -> Mapping[str, str]:
    """A catalog's options about the store of a table: with the login that the server hands out in
    place of the catalog's own, if it does. A table that is made anew, which has another uuid, has
    another one. Raises NoSuchTableError if the table is gone.
    """
    if not (is_rest(options) and namespace):  # a table may be named by its path
        return options
    server = client(options)
    if not server.hands_out_tokens:
        return options
    key = server, namespace, name, uuid
    found = _TOKENS.get(key)
    if found is None or found[1] - time.time() < _SAFE_SECONDS:
        found = _asked(server, namespace, name)
        _TOKENS.drop(key)
        _TOKENS.put(key, found)
    return with_login(options, found[0])


def _asked(server: RestClient, namespace: str, name: str) -> _Token:
    what = f"the data token of table {sql_name(namespace, name)}"
    try:
        path = "databases", namespace, "tables", name, "token"
        said = server.ask("GET", *path, is_secret=True)
    except MissingError:
        raise NoSuchTableError(
            f"table {sql_name(namespace, name)} has no data token, says its REST catalog: it was "
            "dropped or renamed"
        ) from None
    token, until = said.get("token"), said.get("expiresAtMillis")
    match token, until:
        case dict(), int() if all(isinstance(text, str) for text in token.values()):
            return token, until / 1000
    # names alone, as values may be secrets
    raise server.odd(what, "token with texts, and expiresAtMillis", sorted(said))
