"""pypaimon's client of Paimon's REST protocol, and publishing snapshots through it."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from keyfold.errors import ConflictError, KeyfoldError, NotSupportedError, TableError
from keyfold.layout import sql_name
from keyfold.storage.filesystem.files import UnsettledError
from keyfold.storage.paimon import resolve

TYPE = "rest"
_SECRETS = ("token", "dlf.access-key-id", "dlf.access-key-secret", "dlf.security-token")
_REFUSED = ("ForbiddenException", "NotAuthorizedException", "BadRequestException")
Answer = TypeVar("Answer")

_clients: dict[str, Any] = {}
_lock = threading.Lock()


def is_rest(options: Mapping[str, str]) -> bool:
    """Whether a catalog's options name a REST catalog."""
    return (options.get("metastore") or options.get("type") or "").lower() == TYPE


def _client(options: Mapping[str, str]) -> Any:
    """pypaimon's client, which asks the server for its configuration once."""
    key = repr(sorted(options.items()))
    with _lock:
        if key not in _clients:
            made = resolve("RESTApi")(dict(options))
            if str(made.options.to_map().get("data-token.enabled", "")).lower() == "true":
                raise NotSupportedError(
                    f"REST catalog {options.get('uri')} hands out data tokens "
                    "(data-token.enabled): tables of it can't be opened here; give the catalog "
                    "credentials of the store (s3.access-key …) and a server without data tokens"
                )
            _clients[key] = made
        return _clients[key]


def asked(options: Mapping[str, str], ask: Callable[[Any], Answer]) -> Answer:
    """The server's answer; Named, TableError or UnsettledError, in which no credential stands."""
    try:
        return ask(_client(options))
    except KeyfoldError:
        raise
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        for name in _SECRETS:
            if options.get(name):
                text = text.replace(options[name], "***")
        if kind in ("NoSuchResourceException", "AlreadyExistsException"):
            raise Named(kind) from None
        said = f"REST catalog {options.get('uri')} answered {kind}: {text}"
        if kind in _REFUSED:
            raise TableError(f"{said}; look at uri, warehouse and token of the catalog") from None
        raise UnsettledError(said) from None


class Named(Exception):
    """What was named is missing, or there already."""

    @property
    def is_missing(self) -> bool:
        """Which of the two."""
        return bool(self.args[0] == "NoSuchResourceException")


def publisher(
    options: Mapping[str, str], namespace: str, name: str, uuid: str
) -> Callable[[Any], bool]:
    """How snapshots of a table are published: False where another commit was first, UnsettledError
    where the server did not say, ConflictError where the table is gone.
    """

    def publish(snapshot: Any) -> bool:
        def commit(api: Any) -> bool:
            return bool(api.commit_snapshot(identifier(namespace, name), uuid, None, snapshot, []))

        try:
            return asked(options, commit)
        except Named:
            raise ConflictError(
                f"table {sql_name(namespace, name)} was dropped or renamed since the query was "
                "planned: run it again"
            ) from None

    return publish


def identifier(namespace: str, name: str) -> Any:
    """A table as pypaimon names it."""
    return resolve("Identifier").create(namespace, name)
