"""A client of Paimon's REST protocol, which publishes snapshots too.

Importing `requests` takes 0.1 s, so only the first REST catalog imports it.
"""

import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus, urlsplit

from keyfold.errors import ConflictError, NotSupportedError, TableError
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.stores.files import UnsettledError
from keyfold.stores.opened import ANSWER_SECONDS
from keyfold.wire.layout import sql_name
from keyfold.wire.version import package_version

TYPE = "rest"
_HEADER = "header."
_ANSWER_SECONDS = 180.0  # once a server has answered: it may be compacting its own database
_RETRIED = {
    "total": 5,
    "connect": 0,  # the host is wrong, or down: waiting would only delay the error
    "read": 0,  # the request may have been served
    "status_forcelist": (429, 503),
    "allowed_methods": ("GET", "DELETE"),
    "backoff_factor": 1.0,
    "raise_on_status": False,
}
_MISSING, _THERE, _REFUSED = 404, 409, (400, 401, 403)

Json = dict[str, Any]


class MissingError(Exception):
    """The server does not know a name."""


class ThereError(Exception):
    """The server has a thing of that name already."""


class RestClient:
    """The requests to a server about one warehouse. Each raises MissingError, ThereError,
    TableError if the server refuses, or UnsettledError. No message contains a credential.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        uri = (options.get("uri") or "").strip().rstrip("/")
        if not uri or not options.get("warehouse"):
            raise TableError("a REST catalog needs the settings uri and warehouse")
        if options.get("token.provider") != "bear":
            raise TableError(
                f"REST catalog {shown(uri)}: token.provider is {options.get('token.provider')!r}, "
                "expected 'bear', with the setting token"
            )
        self._uri = uri if uri.startswith(("http://", "https://")) else f"http://{uri}"
        self._secrets = [options.get("token"), urlsplit(self._uri).password]
        self._base, self._seconds = "/v1", ANSWER_SECONDS
        self._session = _session(options)
        answer = self.ask("GET", "config", query={"warehouse": _quoted(options["warehouse"])})
        merged = (answer.get("defaults") or {}) | dict(options) | (answer.get("overrides") or {})
        if str(merged.get("data-token.enabled")).lower() == "true":
            raise NotSupportedError(
                f"REST catalog {shown(uri)} hands out data tokens (data-token.enabled): tables of "
                "it can't be opened here; give the catalog credentials of the store "
                "(s3.access-key …) and a server without data tokens"
            )
        self._session.headers.update(_headers(merged))
        self._base = "/".join(filter(None, ["/v1", _quoted(merged.get("prefix") or "")]))
        self._seconds = _ANSWER_SECONDS

    def commit(self, namespace: str, name: str, uuid: str, snapshot: Snapshot) -> bool:
        """Publish a snapshot of the table of that uuid; False if another commit was first."""
        body = {"tableId": uuid, "snapshot": snapshot.to_json(), "statistics": []}
        answer = self.ask("POST", "databases", namespace, "tables", name, "commit", body=body)
        return bool(answer["success"])

    def pages(self, listed: str, *path: str) -> list[str]:
        """The names that all pages of a list have."""
        found: list[str] = []
        query: dict[str, str] = {}
        while True:
            page = self.ask("GET", *path, query=query)
            found += page.get(listed) or []
            if not page.get(listed) or not page.get("nextPageToken"):
                return found
            query = {"pageToken": page["nextPageToken"]}

    def ask(
        self, method: str, *path: str, query: Json | None = None, body: Json | None = None
    ) -> Json:
        """The answer to one request at a path below the server's base."""
        url = "/".join([self._uri + self._base, *map(_quoted, path)])
        timeout = (ANSWER_SECONDS, self._seconds)
        try:
            answer = self._session.request(method, url, query, json=body, timeout=timeout)
            if answer.ok:
                return dict(answer.json()) if answer.content.strip() else {}
            code, text = _failure(answer)
        except Exception as error:  # the connection's, or bytes that are not an answer
            code, text = 0, f"{type(error).__name__}: {error}"
        if code in (_MISSING, _THERE):
            raise MissingError if code == _MISSING else ThereError
        for secret in filter(None, self._secrets):
            text = text.replace(secret, "***")
        said = f"REST catalog {shown(self._uri)} answered {text}"
        if code in _REFUSED:
            raise TableError(f"{said}; look at uri, warehouse and token of the catalog")
        raise UnsettledError(said)


def _session(options: Mapping[str, str]) -> Any:
    """A session that keeps connections open, and asks again if that is safe."""
    requests = importlib.import_module("requests")
    made = requests.Session()
    retries = importlib.import_module("urllib3.util").Retry(**_RETRIED)
    for scheme in ("http://", "https://"):
        made.mount(scheme, requests.adapters.HTTPAdapter(max_retries=retries))
    made.headers.update(
        {"Accept": "application/json", "User-Agent": f"keyfold/{package_version()}"}
    )
    made.headers.update(_headers(options))

    def signed(request: Any) -> Any:  # as `auth`, which no entry of ~/.netrc replaces
        request.headers["Authorization"] = f"Bearer {options.get('token')}"
        return request

    made.auth = signed
    return made


def _headers(options: Mapping[str, Any]) -> dict[str, str]:
    return {k.removeprefix(_HEADER): str(v) for k, v in options.items() if k.startswith(_HEADER)}


def _failure(answer: Any) -> tuple[int, str]:
    """The status and the server's message. If the message has a code, that is the status."""
    try:
        said = answer.json()
        code, text = int(said.get("code") or answer.status_code), str(said.get("message") or said)
    except (ValueError, AttributeError, TypeError):
        code, text = answer.status_code, answer.text
    return code, f"{code}: {text[:1000]}"


def _quoted(part: str) -> str:
    """One part of a path, as Java's URLEncoder has it."""
    return quote_plus(part, safe="*~")


def shown(uri: str) -> str:
    """A URI without the password that it may have."""
    password = urlsplit(uri).password
    return uri.replace(f":{password}@", ":***@") if password else uri


def is_rest(options: Mapping[str, str]) -> bool:
    """Whether a catalog's options name a REST catalog."""
    return (options.get("metastore") or options.get("type") or "").lower() == TYPE


def client(options: Mapping[str, str]) -> RestClient:
    """The client of a catalog, which asks the server for its settings once."""
    return _client(frozenset(options.items()))


@lru_cache(maxsize=16)
def _client(options: frozenset[tuple[str, str]]) -> RestClient:
    return RestClient(dict(options))


def publisher(
    options: Mapping[str, str], namespace: str, name: str, uuid: str
) -> Callable[[Snapshot], bool]:
    """A function that publishes a snapshot of a table. It returns False if another came first.

    It raises UnsettledError if the outcome is not known, ConflictError if the table is gone.
    """

    def publish(snapshot: Snapshot) -> bool:
        try:
            return client(options).commit(namespace, name, uuid, snapshot)
        except (MissingError, ThereError):
            raise ConflictError(
                f"table {sql_name(namespace, name)} was dropped or renamed since the query was "
                "planned: run it again"
            ) from None

    return publish
