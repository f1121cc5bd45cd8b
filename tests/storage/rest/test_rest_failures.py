"""Servers of REST catalogs that are busy, lose answers, never end one or lead elsewhere."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError, KeyfoldError, TableError, UnknownOutcomeError
from keyfold.storage.branching import branches
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.history import tags
from keyfold.storage.maintenance import tagging
from keyfold.storage.rest import client as rest_client
from keyfold.storage.rest.client import MissingError
from keyfold.stores import opened
from keyfold.stores.files import UnsettledError
from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write, rows_of, table_of
from tests.storage import tables
from tests.storage.rest import answering
from tests.storage.rest.answering import CONFIG, SECRET, Answer, Server

BASE = "/v1/p%2Fq/databases"
COMMIT = f"POST {BASE}/default/tables/t/commit"
DONE: Answer = 200, {}
FAST = 0.3  # seconds that a test waits for a server


def busy(status: int, **headers: str) -> Answer:
    return status, {"message": "later"}, headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("told", [busy(429), busy(503), answering.cut])
def test_a_request_that_changes_nothing_twice_is_asked_again(
    server: Server, method: str, told: Answer
) -> None:
    request = f"{method} {BASE}/d"
    server.answers[request] = [told, told, DONE]
    server.client().ask(method, "databases", "d")
    assert server.count(request) == 3


def test_a_request_that_may_have_been_served_is_not_asked_again(server: Server) -> None:
    client, request = server.client(), f"POST {BASE}"
    for told, text in ((busy(503), "503: later"), (answering.cut, "ConnectionError")):
        server.asked.clear()
        server.answers[request] = told
        with pytest.raises(UnsettledError, match=text):
            client.ask("POST", "databases", body={})
        assert server.count(request) == 1
    server.answers[request] = [busy(429), DONE]
    client.ask("POST", "databases", body={})


def test_a_server_says_when_to_come_again(server: Server) -> None:
    """Times that are over, or are no times, count as nothing; a far one is not waited for."""
    client, request = server.client(), f"GET {BASE}/d"
    for text in ("0", "soon", "-1", formatdate(0), "9" * 400):
        told = busy(429, **{"Retry-After": text})
        server.answers[request] = [told, DONE]
        if text[0] != "9":
            client.ask("GET", "databases", "d")
            continue
        with pytest.raises(UnsettledError, match="429: later"):
            client.ask("GET", "databases", "d")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_does_not_get_the_token(server: Server, status: int) -> None:
    with answering.running() as other:
        place = other.options["uri"] + "v1"
        server.answers[f"GET {BASE}/d"] = status, "", {"Location": place}
        with pytest.raises(TableError, match=rf"{status}: {place}, a redirect, which is not"):
            server.client().ask("GET", "databases", "d")
        assert not other.asked


def endless(handler: BaseHTTPRequestHandler, _: str) -> None:
    handler.send_response(200)
    handler.end_headers()
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            threading.Event().wait(FAST / 10)
    handler.close_connection = True


def test_an_answer_that_never_ends(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_client, "_ANSWER_SECONDS", FAST)
    server.answers[f"GET {BASE}/d"] = endless
    with pytest.raises(UnsettledError, match="TimeoutError: no answer"):
        server.client().ask("GET", "databases", "d")


def test_pages_that_never_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"databases": ["a"], "nextPageToken": "a"}
    server.answers[f"GET {BASE}"] = server.answers[f"GET {BASE}?pageToken=a"] = 200, page
    with pytest.raises(UnsettledError, match="nextPageToken as a new text"):
        server.client().pages("databases", "databases")
    monkeypatch.setattr(rest_client, "_MOST_NAMES", 10)
    page = {"databases": ["a"] * 11, "nextPageToken": "b"}
    server.answers[f"GET {BASE}"] = 200, page
    with pytest.raises(UnsettledError, match="up to 10 names"):
        server.client().pages("databases", "databases")


@pytest.mark.parametrize(
    "told", [{"defaults": 7}, {"overrides": [1]}, {"defaults": {"prefix": 7}}, [], "<html>", None]
)
def test_settings_that_are_none(server: Server, told: Any) -> None:
    server.answers[CONFIG] = 200, told
    with pytest.raises(UnsettledError, match="is it a server of Paimon's protocol") as raised:
        server.client()
    assert SECRET not in str(raised.value)


@pytest.fixture
def served(server: Server, tmp_path: Path) -> Options:
    """The options of a catalog with the table `t`, which adds, in a folder; commits are missing."""
    made = jobs.made(str(tmp_path), merge_engine="aggregation", fields__v__aggregate_function="sum")
    place = {"path": made.layout.location, "id": "u-1"}
    server.answers[f"GET {BASE}/default/tables/t"] = 200, place
    return server.options


class Publishing:
    """Publishes snapshots as a server does: exclusively."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "default.db/t/snapshot"

    def __call__(self, handler: BaseHTTPRequestHandler, body: str) -> tuple[Any, ...]:
        self.folder.mkdir(exist_ok=True)
        snapshot = json.loads(body)["snapshot"]
        try:
            with (self.folder / f"snapshot-{snapshot['id']}").open("x") as file:
                json.dump(snapshot, file)
        except FileExistsError:
            return 200, {"success": False}
        return 200, {"success": True}

    def lost(self, handler: BaseHTTPRequestHandler, body: str) -> None:
        """Publishes, and ends the connection in place of an answer."""
        self(handler, body)
        answering.cut(handler, body)

    def late(self, handler: BaseHTTPRequestHandler, body: str) -> tuple[Any, ...]:
        """Publishes, behind a server that says it is not there."""
        self(handler, body)
        return 503, "the one behind me is away"


def test_a_commit_whose_answer_is_lost_counts_once(
    server: Server, served: Options, tmp_path: Path
) -> None:
    publish = Publishing(tmp_path)
    server.answers[COMMIT] = [
        *(publish.lost, publish),
        *(publish.late, answering.cut, publish),
        *(answering.cut, (500, "out of memory"), (200, "<html>"), publish),
        publish,
    ]
    for _ in range(4):
        Write(served, [{"k": 1, "v": 1}]).run().commit()
    found = table_of(served)
    assert rows_of(found) == {1: 4}
    assert sorted(found.snapshots.ids()) == [1, 2, 3, 4]
    assert server.answers[COMMIT] == []


def test_another_commit_may_come_between_two_tries(
    server: Server, served: Options, tmp_path: Path
) -> None:
    publish = Publishing(tmp_path)

    def other(handler: BaseHTTPRequestHandler, body: str) -> None:
        first = json.loads((publish.folder / "snapshot-1").read_text())
        told = {"snapshot": first | {"id": 2, "commitUser": "another"}}
        publish.lost(handler, json.dumps(told))

    server.answers[COMMIT] = [publish, other, publish, publish]
    for key in (1, 2):
        Write(served, [{"k": key, "v": 1}]).run().commit()
    assert rows_of(table_of(served)) == {1: 1, 2: 1}
    assert sorted(table_of(served).snapshots.ids()) == [1, 2, 3]


@pytest.mark.parametrize("then", [(401, "who are you?"), (404, "no table"), (409, "which table?")])
def test_files_of_a_commit_that_may_still_arrive_are_kept(
    server: Server, served: Options, then: Answer
) -> None:
    job = Write(served, [{"k": 1, "v": 1}]).run()
    server.answers[COMMIT] = [answering.cut, then]
    with pytest.raises(UnknownOutcomeError, match="its data files were kept"):
        job.commit()
    server.answers[COMMIT] = [then]
    with pytest.raises((ConflictError, TableError)) as raised:
        Write(served, [{"k": 1, "v": 1}]).run().commit()
    assert not isinstance(raised.value, UnknownOutcomeError)


def test_a_change_whose_answer_is_lost(server: Server, served: Options, tmp_path: Path) -> None:
    """It is looked for in the files of the table, and said to be unknown if it is not there."""
    server.answers[COMMIT] = Publishing(tmp_path)
    Write(served, [{"k": 1, "v": 1}]).run().commit()
    asked = COMMIT.removesuffix("/commit")
    ours = tables.catalog(tmp_path)
    found = table_of(served)
    for request, lost, again, does in (
        (
            asked,
            lambda: alter_in(ours, "n"),
            lambda: alter_in(jobs.catalog(served), "n"),
            lambda: [c.name for c in table_of(served).layout.columns] == ["k", "v", "n"],
        ),
        (
            f"{asked}/tags",
            lambda: tagging.create(table_of(str(tmp_path)), "one"),
            lambda: tagging.create(found, "one"),
            lambda: tags.names(found) == ["one"],
        ),
        (
            f"{asked}/branches",
            lambda: branches.create(table_of(str(tmp_path)), "b", "one"),
            lambda: branches.create(found, "b", "one"),
            lambda: branches.names(found) == ["b"],
        ),
    ):
        server.answers[request] = answering.cut
        with pytest.raises(UnsettledError, match="whether it took place is not known"):
            again()
        assert not does()
        server.answers[request] = losing(lost)
        again()
        assert does()


def losing(serve: Callable[[], object]) -> Answer:
    """Does what it is asked, and ends the connection in place of an answer."""

    def answer(handler: BaseHTTPRequestHandler, body: str) -> None:
        serve()
        answering.cut(handler, body)

    return answer


def alter_in(catalog: Catalog, name: str) -> None:
    change = {"change": "add_column", "name": [name], "type": "integer"}
    catalog.alter_table(["default"], "t", [change])


def test_a_server_that_alters_otherwise(server: Server, served: Options, tmp_path: Path) -> None:
    """Another ALTER may come first; one that the server made of ours is named."""
    asked, ours = COMMIT.removesuffix("/commit"), tables.catalog(tmp_path)

    def both() -> None:
        alter_in(ours, "other")
        alter_in(ours, "n")

    server.answers[asked] = losing(both)
    alter_in(jobs.catalog(served), "n")

    def another(handler: BaseHTTPRequestHandler, body: str) -> tuple[Any, ...]:
        alter_in(ours, "o")
        return 200, {}

    server.answers[asked] = another
    with pytest.raises(TableError, match=r"made another schema of it than expected .*schema-3"):
        alter_in(jobs.catalog(served), "p")
    for told, text in (
        ((404, "no column"), "404: no column"),
        ((409, "it is there"), "409: it is there"),
        ((501, "not that"), "501: not that"),
    ):
        server.answers[asked] = told
        with pytest.raises(KeyfoldError, match=text):
            alter_in(jobs.catalog(served), "p")


def test_a_catalog_that_is_silent_holds_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "ANSWER_SECONDS", 60)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = {"warehouse": "gs://silent/lake", "gcs.endpoint": place, "gcs.access-token": "t"}

        def waits() -> None:
            with pytest.raises(Exception, match="can't be reached"):
                open_catalog("silent", options)

        waiting = threading.Thread(target=waits, daemon=True)
        waiting.start()
        asked, _ = silent.accept()  # it is being asked
        assert open_catalog("local", {"warehouse": str(tmp_path)}).list_namespaces() == [
            ["default"]
        ]
        assert waiting.is_alive()
        asked.close()


def test_missing_names_say_what_the_server_said(server: Server) -> None:
    with pytest.raises(MissingError, match="404: nothing"):
        server.client().ask("GET", "databases", "d")
