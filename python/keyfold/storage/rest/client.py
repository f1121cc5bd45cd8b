"""A client of Paimon's REST protocol, which publishes snapshots too."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote_plus, urlsplit

from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.rest.dlf import Request
from keyfold.storage.rest.http import NO_ANSWER, Http, Pauses, Said
from keyfold.storage.rest.logins import PROVIDER, login_of
from keyfold.stores.files import UnsettledError
from keyfold.stores.opened import ANSWER_SECONDS

TYPE = "rest"
_HEADER = "header."
_ANSWER_SECONDS = 180.0  # once a server has answered: it may be compacting its own database
_MISSING, _THERE, _LACKING, _REFUSED, _DENIED = 404, 409, (405, 501), (400,), (401, 403)
_REDIRECTED = range(300, 400)
_BUSY, _UNAVAILABLE = 429, 503  # of which a busy server has served nothing for certain
_BUSY_SECONDS, _BUSY_TRIES = 60.0, 8
_LOST_SECONDS, _LOST_TRIES = 60.0, 5
_MOST_NAMES = 1_000_000

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
        self._uri = uri if uri.startswith(("http://", "https://")) else f"http://{uri}"
        self._secrets = [urlsplit(self._uri).password, *secrets_of(options)]
        self._base, self._seconds = "/v1", ANSWER_SECONDS
        self._http, self._login = Http(), login_of({**options, "uri": self._uri}, shown(self._uri))
        self._headers = _headers(options)
        answer = self.ask("GET", "config", query={"warehouse": _quoted(options["warehouse"])})
        if not all(isinstance(answer.get(n) or {}, dict) for n in ("defaults", "overrides")):
            raise self.odd("its settings", "defaults and overrides as objects", answer)
        merged = (answer.get("defaults") or {}) | dict(options) | (answer.get("overrides") or {})
        self.hands_out_tokens = str(merged.get("data-token.enabled")).lower() == "true"
        prefix = merged.get("prefix") or ""
        if not isinstance(prefix, str):
            raise self.odd("its settings", "prefix as text", prefix)
        self._headers |= _headers(merged)
        self._base = "/".join(filter(None, ["/v1", _quoted(prefix)]))
        self._seconds = _ANSWER_SECONDS

    def commit(self, namespace: str, name: str, uuid: str, snapshot: Snapshot) -> bool:
        """Publish a snapshot of the table of that uuid; False if its number is taken: by another
        commit or, after a lost answer, by this one.

        It is asked again if an answer is lost, as no second snapshot can get the number.
        """
        body = {"tableId": uuid, "snapshot": snapshot.to_json(), "statistics": []}
        pauses, lost = Pauses(_LOST_SECONDS, _LOST_TRIES), None
        while True:
            try:
                path = "databases", namespace, "tables", name, "commit"
                answer = self.ask("POST", *path, body=body)
                return self.field(answer, "success", bool, "a commit")
            except UnsettledError as error:
                lost = error
                if not pauses.passed():
                    raise
            except (MissingError, ThereError, KeyfoldError) as error:
                if lost is None:
                    raise
                raise UnsettledError(f"{lost}; asked again: {error}") from None

    def pages(self, listed: str, *path: str) -> list[str]:
        """The names that all pages of a list have."""
        found: list[str] = []
        query: dict[str, str] = {}
        seen: set[str] = set()
        while True:
            page = self.ask("GET", *path, query=query)
            names = page.get(listed) or []
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self.odd(f"a list of {listed}", "texts", names)
            found += names
            following = page.get("nextPageToken")
            if not names or not following:
                return found
            if not isinstance(following, str) or following in seen or len(found) > _MOST_NAMES:
                expected = f"nextPageToken as a new text, and up to {_MOST_NAMES:,} names"
                raise self.odd(f"a list of {listed}", expected, following)
            seen.add(following)
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
        for secret in filter(None, [*self._secrets, *self._login.secrets()]):
            text = text.replace(secret, "***")
        return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} …"

    def ask(
        self,
        method: str,
        *path: str,
        query: Json | None = None,
        body: Json | None = None,
        is_secret: bool = False,
    ) -> Json:
        """The answer to one request at a path below the server's base. It is asked again where the
        server has not served it, or where serving it twice changes nothing. Messages show nothing
        of an answer that is a secret.
        """
        place = "/".join([self._base, *map(_quoted, path)])
        text = None if body is None else json.dumps(body)
        sent = Request(method, place, query or {}, text, urlsplit(self._uri).netloc)
        is_harmless, pauses = method in ("GET", "DELETE"), Pauses(_BUSY_SECONDS, _BUSY_TRIES)
        while True:
            said = self._exchanged(sent)
            is_busy = said.status == _BUSY or (said.status == _UNAVAILABLE and is_harmless)
            if (is_busy or (said.is_cut and is_harmless)) and pauses.passed(said.retry_after):
                continue
            return self._answer(said, "/".join(path), is_secret)

    def _exchanged(self, sent: Request) -> Said:
        headers = dict(self._headers)
        if sent.body is not None:
            headers["Content-Type"] = "application/json"
        headers |= self._login.headers(sent)
        url = self._uri + sent.path
        if sent.query:
            url += "?" + "&".join(f"{name}={quote_plus(v)}" for name, v in sent.query.items())
        return self._http.request(sent.method, url, headers, sent.body, self._seconds)

    def _answer(self, said: Said, asked: str, is_secret: bool) -> Json:
        """The object that an answer is. Raises the error that it is instead, if it is one."""
        if 200 <= said.status < 300:
            found = said.json if said.text.strip() else {}
            if not isinstance(found, dict):
                shown_text = f"a text of {len(said.text)} letters" if is_secret else said.text
                raise self.odd(asked, "an object in JSON", shown_text)
            return found
        code, text = _failure(said, is_secret)
        words = f"REST catalog {shown(self._uri)} answered {self.hidden(text)}"
        if code in (_MISSING, _THERE):
            raise (MissingError if code == _MISSING else ThereError)(self.hidden(text))
        if code in _LACKING:
            raise NotSupportedError(f"{words}: it has no such request")
        if code in _REDIRECTED:
            raise TableError(
                f"{words}, a redirect, which is not followed, as the login would go there: is that "
                "the catalog's uri?"
            )
        if code in (*_REFUSED, *_DENIED):
            kind = DeniedError if code in _DENIED else TableError
            raise kind(f"{words}; look at uri, warehouse and token of the catalog")
        raise UnsettledError(words)


def _headers(options: Mapping[str, Any]) -> dict[str, str]:
    return {k.removeprefix(_HEADER): str(v) for k, v in options.items() if k.startswith(_HEADER)}


def _failure(said: Said, is_secret: bool) -> tuple[int, str]:
    """The status and the server's message. If the message has a code, that is the status."""
    if said.status == NO_ANSWER:
        return said.status, said.text
    found, code, text = said.json, said.status, said.text
    if isinstance(found, dict):
        text = str(found.get("message") or (", ".join(sorted(found)) if is_secret else found))
        own = found.get("code")
        code = own if isinstance(own, int) and own >= _REFUSED[0] else code
    return code, f"{code}: {text}"


def secrets_of(options: Mapping[str, str]) -> list[str]:
    """The values of a catalog's options that no text may show, the longest first."""
    names = (n for n in options if any(s in n.lower() for s in _SECRET) and n != PROVIDER)
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
