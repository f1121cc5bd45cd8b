"""A client of Paimon's REST protocol, which publishes snapshots too.

Importing `requests` takes 0.1 s, so only the first REST catalog imports it.
"""

import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar
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
_MISSING, _THERE, _LACKING, _REFUSED, _DENIED = 404, 409, (405, 501), (400,), (401, 403)

Json = dict[str, Any]
Value = TypeVar("Value")
_MOST_TEXT = 300
_SECRET = ("token", "secret", "password", "key", "authorization", "credential")  # in names


class MissingError(Exception):
    """The server does not know a name."""


class ThereError(Exception):
    """The server has a thing of that name already."""


class DeniedError(TableError):
    """The server does not let this user ask it."""


class RestClient:
    """The requests to a server about one warehouse. Each raises MissingError, ThereError,
    NotSupportedError if the server lacks it, TableError if it refuses, or UnsettledError. No
    message contains a credential.
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
        self._secrets = [urlsplit(self._uri).password, *secrets_of(options)]
        self._base, self._seconds = "/v1", ANSWER_SECONDS
        self._session = _session(options)
        answer = self.ask("GET", "config", query={"warehouse": _quoted(options["warehouse"])})
        if not all(isinstance(answer.get(n) or {}, dict) for n in ("defaults", "overrides")):
            raise self.odd("its settings", "defaults and overrides as objects", answer)
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
        return self.field(answer, "success", bool, "a commit")

    def pages(self, listed: str, *path: str) -> list[str]:
        """The names that all pages of a list have."""
        found: list[str] = []
        query: dict[str, str] = {}
        while True:
            page = self.ask("GET", *path, query=query)
            names = page.get(listed) or []
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self.odd(f"a list of {listed}", "texts", names)
            found += names
            following = page.get("nextPageToken")
            if not names or not following:
                return found
            query = {"pageToken": following}

    def field(self, answer: Json, name: str, kind: type[Value], asked: str) -> Value:
        """A field of an answer. Raises UnsettledError if it is missing or of another type."""
        found = answer.get(name)
        if not isinstance(found, kind):
            raise self.odd(asked, f"{name} as {kind.__name__}", answer)
        return found

    def odd(self, asked: str, expected: str, found: object) -> UnsettledError:
        """The error: an answer is not what the protocol says."""
        return UnsettledError(
            f"REST catalog {shown(self._uri)} answered {asked} with {self.hidden(repr(found))}; "
            f"expected {expected}: is it a server of Paimon's protocol?"
        )

    def hidden(self, text: str) -> str:
        """A server's text without secrets of the catalog, cut short."""
        for secret in filter(None, self._secrets):
            text = text.replace(secret, "***")
        return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} …"

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
        said = f"REST catalog {shown(self._uri)} answered {self.hidden(text)}"
        if code in _LACKING:
            raise NotSupportedError(f"{said}: it has no such request")
        if code in (*_REFUSED, *_DENIED):
            kind = DeniedError if code in _DENIED else TableError
            raise kind(f"{said}; look at uri, warehouse and token of the catalog")
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
    return code, f"{code}: {text}"


def secrets_of(options: Mapping[str, str]) -> list[str]:
    """The values of a catalog's options that no text may show, the longest first."""
    names = (n for n in options if any(s in n.lower() for s in _SECRET) and n != "token.provider")
    named = (options[name] for name in names)
    return sorted({value for value in named if len(value) > 3}, key=len, reverse=True)


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
