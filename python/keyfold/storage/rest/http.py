"""One request over HTTP and its answer, whatever the server does: it may say nothing, never end,
or send us elsewhere.

Importing `requests` takes 0.1 s, so only the first REST catalog imports it.
"""

import importlib
import json
import random
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from keyfold.stores.opened import ANSWER_SECONDS, answered
from keyfold.wire.version import package_version

NO_ANSWER = 0
_REDIRECTED = range(300, 400)
_MOST_BYTES = 1 << 26  # of an answer: a page of a list has a thousand names
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Said:
    """An answer: its status, NO_ANSWER if there is none, and its text, or what went wrong.
    `is_cut` if the connection was there and broke.
    """

    status: int
    text: str
    retry_after: str = ""
    is_cut: bool = False

    @property
    def json(self) -> Any:
        """The text read as JSON, None if it is not JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


class Http:
    """Requests that keep connections open, each answered in bounded time by bounded memory."""

    def __init__(self) -> None:
        requests = importlib.import_module("requests")
        self._session = requests.Session()
        self._cut = (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)
        self._protocol = importlib.import_module("urllib3.exceptions").ProtocolError
        self._session.auth = lambda request: request  # no entry of ~/.netrc replaces our login
        self._session.headers.update(
            {"Accept": "application/json", "User-Agent": f"keyfold/{package_version()}"}
        )

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None, seconds: float
    ) -> Said:
        """The answer. A redirect is one too: the login would be sent to wherever it leads."""
        try:
            return answered(lambda: self._request(method, url, headers, body, seconds), seconds)
        except Exception as error:  # the connection's, or bytes that are not an answer
            broken = isinstance(error, self._cut) and isinstance(error.args[0], self._protocol)
            return Said(NO_ANSWER, f"{type(error).__name__}: {error}", is_cut=broken)

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None, seconds: float
    ) -> Said:
        sent: dict[str, Any] = {"headers": dict(headers), "data": body and body.encode()}
        timeout = (min(ANSWER_SECONDS, seconds), seconds)
        with self._session.request(
            method, url, timeout=timeout, stream=True, allow_redirects=False, **sent
        ) as answer:
            acknowledge(answer.raw.connection)
            if answer.status_code in _REDIRECTED:
                return Said(answer.status_code, str(answer.headers.get("Location")))
            content = bytearray()
            for chunk in answer.iter_content(_CHUNK):
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise ValueError(f"its answer has more than {_MOST_BYTES >> 20} MiB")
            text = content.decode(errors="replace")
            return Said(answer.status_code, text, str(answer.headers.get("Retry-After") or ""))


def acknowledge(connection: Any) -> None:
    """Acknowledge what has come at once. A server may send the head of an answer first, and its
    text when that is acknowledged: for this Linux lets it wait 40 ms otherwise.

    Nothing happens where the server closes the connection after the answer, and where TLS goes
    through that of a proxy: then it has no socket, or one without options.
    """
    with suppress(AttributeError, OSError):
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


class Pauses:
    """The waits between tries of one request: longer and longer, or as long as the server says, and
    no more than `seconds` and `tries` of them in all.
    """

    def __init__(self, seconds: float, tries: int) -> None:
        self._until, self._left, self._next = time.monotonic() + seconds, tries, 0.1

    def passed(self, retry_after: str = "") -> bool:
        """Wait for the next try; False, at once, if there should be no other."""
        wait = max(_seconds(retry_after), self._next * random.uniform(0.8, 1.2))
        if self._left == 0 or time.monotonic() + wait > self._until:
            return False
        self._left, self._next = self._left - 1, self._next * 2
        time.sleep(wait)
        return True


def _seconds(retry_after: str) -> float:
    """The time of a Retry-After: a number of seconds, or a date; 0 if it is neither."""
    if retry_after.isdigit():
        return float(retry_after[:9])
    try:
        return parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
