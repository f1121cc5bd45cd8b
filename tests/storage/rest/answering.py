"""A server that answers what a test says, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from keyfold.storage.rest.client import RestClient
from tests.option_names import setting_names

SECRET = "a-token-that-nobody-may-read"
CONFIG = "GET /v1/config?warehouse=my%2Bshop"
# A status with JSON or text, and headers; or what does the rest: it gets the request's handler.
Answer = tuple[Any, ...] | Callable[[BaseHTTPRequestHandler, str], tuple[Any, ...] | None]


@dataclass
class Server:
    """What it answers, by method and path, and what it was asked: path, headers, body."""

    answers: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def client(self, **more: str) -> RestClient:
        return RestClient(self.options | setting_names(more))

    def count(self, request: str) -> int:
        """How often it was asked."""
        return [path for path, *_ in self.asked].count(request)


def cut(handler: BaseHTTPRequestHandler, _: str) -> None:
    """Answers nothing: the connection ends."""
    handler.close_connection = True


def _handler(found: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            request = f"{self.command} {self.path}"
            found.asked.append((request, dict(self.headers), body))
            answer = found.answers.get(request, (404, {"message": "nothing"}))
            if isinstance(answer, list):
                answer = answer.pop(0)
            made = answer(self, body) if callable(answer) else answer
            if made is None:
                return
            status, said, *headers = made
            text = said if isinstance(said, str) else json.dumps(said)
            self.send_response(status)
            for name, value in (headers[0] if headers else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def running() -> Iterator[Server]:
    """A server whose catalog is `my shop`, with the prefix p/q."""
    found = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(found)) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        found.options = {
            "type": "rest",
            "uri": f"http://127.0.0.1:{http.server_port}/",
            "warehouse": "my shop",
            "token.provider": "bear",
            "token": SECRET,
        }
        defaults = {"prefix": "p/q", "header.Theirs": "1"}
        overrides = {"header.Ours": "overridden"}
        found.answers[CONFIG] = 200, {"defaults": defaults, "overrides": overrides}
        yield found
        http.shutdown()
