"""A server between a store and its clients that does what networks and busy stores do: it cuts
answers off, throttles, and looks at tokens. It runs in threads of the test that asks for it.
"""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

PER_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "host", "date")


@dataclass
class Request:
    """A request, before it is passed on: a rule may change it."""

    method: str
    path: str  # with the query
    headers: dict[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True)
class Answer:
    """An answer to a request that is not passed on."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


CUT = Answer(0)  # the request is passed on, and its answer is not
LOST = Answer(-1)  # neither is
Rule = Callable[[Request], Answer | None]


@contextmanager
def before(endpoint: str, rule: Rule) -> Iterator[str]:
    """The endpoint of a proxy before a store, which asks the rule about each request. None lets it
    pass.
    """
    place = urlsplit(endpoint)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Request(self.command, self.path, headers, body)
            found = rule(asked)
            if found is CUT:
                _answered(place.netloc, asked)
            if found is CUT or found is LOST:
                self.close_connection = True
                return
            self._answer(found or _answered(place.netloc, asked))

        def _answer(self, found: Answer) -> None:
            self.send_response_only(found.status)
            size = {"content-length": f"{len(found.body)}"}
            for name, value in (size | found.headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(found.body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{place.path}"
        finally:
            server.shutdown()


def _answered(place: str, asked: Request) -> Answer:
    """The store's answer."""
    client = http.client.HTTPConnection(place, timeout=60)
    headers = {n: v for n, v in asked.headers.items() if n not in ("host", "connection")}
    client.request(asked.method, asked.path, asked.body, headers)
    found = client.getresponse()
    body = found.read()
    headers = {n.lower(): v for n, v in found.getheaders() if n.lower() not in PER_HOP}
    if asked.method == "HEAD" and found.getheader("Content-Length"):
        headers["content-length"] = found.getheader("Content-Length") or ""
    client.close()
    return Answer(found.status, headers, body)
