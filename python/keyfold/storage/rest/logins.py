"""Logins of REST catalogs: a token that stays, or an access key that signs requests and is renewed.

`token.provider` names them as Paimon does: `bear` and `dlf`.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from keyfold.errors import NotSupportedError, TableError
from keyfold.storage.rest.dlf import AccessKey, Request, signed_by_default, signed_by_openapi
from keyfold.storage.rest.http import Http, Pauses
from keyfold.stores.opened import ANSWER_SECONDS

PROVIDER = "token.provider"
_REGION = re.compile(r"(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")
_SAFE_SECONDS = 3600.0  # a key is renewed so long before it ends, as Paimon's Java does
_ROLES = "http://100.100.100.200/latest/meta-data/Ram/security-credentials/"
_READ_SECONDS, _READ_TRIES = 2.0, 4  # of a file that is being written

_Loaded = tuple[AccessKey, float | None]  # with the time when it ends, in seconds since 1970


class Login(Protocol):
    """The login of a catalog."""

    def headers(self, request: Request) -> dict[str, str]:
        """The headers of one request."""

    def secrets(self) -> list[str]:
        """Texts that no message may show, besides the catalog's settings."""


def login_of(options: Mapping[str, str], shown: str) -> Login:
    """The login that a catalog's options ask for. Raises TableError if they lack something."""
    provider = options.get(PROVIDER)
    if provider == "bear" and options.get("token"):
        return _Bearer(options["token"])
    if provider == "dlf":
        return _dlf(options, shown)
    raise TableError(
        f"REST catalog {shown}: token.provider is {provider!r}, expected 'bear', with the setting "
        "token, or 'dlf', with dlf.token-path, dlf.token-loader, or dlf.access-key-id and "
        "dlf.access-key-secret"
    )


class _Bearer:
    def __init__(self, token: str) -> None:
        self._token = token

    def headers(self, request: Request) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def secrets(self) -> list[str]:
        return []


class _Signing:
    """Signs requests with a key, which is loaded again an hour before it ends."""

    def __init__(
        self,
        load: Callable[[], _Loaded],
        sign: Callable[[Request, AccessKey, datetime], dict[str, str]],
    ) -> None:
        self._load, self._sign, self._lock = load, sign, threading.Lock()
        self._found: _Loaded | None = None

    def headers(self, request: Request) -> dict[str, str]:
        found = self._found
        if _is_old(found):
            with self._lock:
                found = self._found = self._load() if _is_old(self._found) else self._found
        assert found is not None
        return self._sign(request, found[0], datetime.now(timezone.utc))

    def secrets(self) -> list[str]:
        if self._found is None:
            return []
        key, _ = self._found
        return [text for text in (key.id, key.secret, key.security) if text]


def _is_old(found: _Loaded | None) -> bool:
    if found is None:
        return True
    return found[1] is not None and found[1] - time.time() < _SAFE_SECONDS


def _dlf(options: Mapping[str, str], shown: str) -> Login:
    uri = options.get("uri") or ""
    kind = options.get("dlf.signing-algorithm")
    kind = kind or ("openapi" if "dlfnext" in uri.lower() else "default")
    load = _loader(options, shown)
    if kind == "openapi":
        return _Signing(load, signed_by_openapi)
    if kind != "default":
        raise NotSupportedError(
            f"REST catalog {shown}: dlf.signing-algorithm is {kind!r}, expected default or openapi"
        )
    match = _REGION.search(urlsplit(uri).netloc or uri)
    region = options.get("dlf.region") or (match[1] if match else "")
    if not region:
        raise TableError(
            f"REST catalog {shown}: its address names no region: set dlf.region, such as "
            "cn-hangzhou"
        )
    return _Signing(load, partial(signed_by_default, region=region))


def _loader(options: Mapping[str, str], shown: str) -> Callable[[], _Loaded]:
    name, path = options.get("dlf.token-loader"), options.get("dlf.token-path")
    own, secret = options.get("dlf.access-key-id"), options.get("dlf.access-key-secret")
    if name == "ecs":
        place = options.get("dlf.token-ecs-metadata-url") or _ROLES
        return lambda: _of_machine(shown, place, options.get("dlf.token-ecs-role-name"))
    if name not in (None, "local_file"):
        raise NotSupportedError(
            f"REST catalog {shown}: dlf.token-loader is {name!r}, expected local_file or ecs"
        )
    if path:
        return lambda: _of_file(shown, path)
    if own and secret and name is None:
        key = AccessKey(own, secret, options.get("dlf.security-token"))
        return lambda: (key, None)
    raise TableError(
        f"REST catalog {shown}: token.provider is dlf, expected dlf.token-path, dlf.token-loader "
        "= ecs, or dlf.access-key-id and dlf.access-key-secret"
    )


def _of_file(shown: str, path: str) -> _Loaded:
    pauses = Pauses(_READ_SECONDS, _READ_TRIES)
    while True:
        try:
            return _parsed(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError) as error:
            if not pauses.passed():
                said = type(error).__name__ if not isinstance(error, OSError) else str(error)
                raise _bad(shown, f"file {path} (dlf.token-path)", said) from None


def _of_machine(shown: str, place: str, role: str | None) -> _Loaded:
    http = Http()

    def asked(url: str) -> str:
        said = http.request("GET", url, {}, None, ANSWER_SECONDS)
        if said.status != 200:
            raise _bad(shown, f"answer of {url} (dlf.token-ecs-metadata-url)", f"{said.status}")
        return said.text

    role = role or asked(place).strip()
    try:
        return _parsed(asked(place + role))
    except (ValueError, LookupError, TypeError) as error:
        named = f"answer of {place}{role} (dlf.token-ecs-metadata-url)"
        raise _bad(shown, named, type(error).__name__) from None


def _bad(shown: str, what: str, said: str) -> TableError:
    return TableError(
        f"REST catalog {shown}: the {what} is not a key ({said}); expected JSON with AccessKeyId, "
        "AccessKeySecret, SecurityToken and Expiration"
    )


def _parsed(text: str) -> _Loaded:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("no object")
    names = "AccessKeyId", "AccessKeySecret", "SecurityToken"
    own, secret, security = (found.get(name) for name in names)
    if not isinstance(own, str) or not isinstance(secret, str):
        raise TypeError("AccessKeyId")
    ends = found.get("Expiration")
    if ends is None:
        return AccessKey(own, secret, security), None
    until = datetime.strptime(ends, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return AccessKey(own, secret, security), until.timestamp()
