"""The service: python -m integration.service.app WAREHOUSE TABLE --refresh-ms 100

It prints its port, and answers `GET /rows/7` by the row of a key and `POST /rows` with a list of
keys by a list of rows. Its threads share one connection.
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

import waitress
from flask import Flask, Response, jsonify, request

import keyfold
from keyfold import Table

THREADS = 4


def app(table: Table, refresh_ms: float) -> Flask:
    """The application. The table has one column of whole numbers as its key."""
    made = Flask("lookups")
    (name,) = table.primary_key

    @made.get("/rows/<int:key>")
    def one(key: int) -> tuple[Response, int]:
        row = table.get({name: key}, refresh_ms=refresh_ms)
        return jsonify(row), 404 if row is None else 200

    @made.post("/rows")
    def many() -> Response:
        keys: list[Any] = request.get_json()
        found = table.get_many([{name: key} for key in keys], refresh_ms=refresh_ms)
        return jsonify(found.to_pylist())

    return made


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse")
    parser.add_argument("table")
    parser.add_argument("--refresh-ms", type=float, default=0)
    asked = parser.parse_args()
    table = keyfold.connect(asked.warehouse).table(asked.table)
    serving = app(table, asked.refresh_ms)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of every queue
    server = waitress.create_server(serving, host="127.0.0.1", port=0, threads=THREADS)
    print(server.effective_port, flush=True)
    server.run()


if __name__ == "__main__":
    main()
