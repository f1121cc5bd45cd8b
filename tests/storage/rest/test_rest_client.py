"""The client of Paimon's REST protocol, held to what a server of a few lines was asked."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from urllib3.util.ssltransport import SSLTransport

from keyfold.errors import (
    NoSuchNamespaceError,
    NoSuchTableError,
    TableError,
    TableExistsError,
)
from keyfold.questions.views import load_relation
from keyfold.storage.catalogs.rest import RestCatalog
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.rest import client as rest_client
from keyfold.storage.rest.client import MissingError, ThereError
from keyfold.storage.rest.http import acknowledge
from keyfold.stores.files import UnsettledError
from tests.storage import tables
from tests.storage.rest.answering import CONFIG, SECRET, Server


def test_settings_of_the_server_and_of_the_catalog_count(server: Server) -> None:
    server.answers["GET /v1/p%2Fq/databases/a+b"] = 200, {"options": {}}
    server.client(header__Ours="mine", header__Mine="2").ask("GET", "databases", "a b")
    for number, theirs in enumerate([{"Ours": "mine"}, {"Ours": "overridden", "Theirs": "1"}]):
        path, headers, _ = server.asked[number]
        wanted = {"Mine": "2", "Authorization": f"Bearer {SECRET}"} | theirs
        assert wanted.items() <= headers.items(), path
        assert headers["User-Agent"].startswith("keyfold/")


def test_all_pages_are_asked_for(server: Server) -> None:
    tables = "GET /v1/p%2Fq/databases/d/tables"
    server.answers[tables] = 200, {"tables": ["a", "b"], "nextPageToken": "b="}
    server.answers[f"{tables}?pageToken=b%3D"] = 200, {"tables": ["c"], "nextPageToken": None}
    assert server.client().pages("tables", "databases", "d", "tables") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("status", "said", "error", "text"),
    [
        (404, {"message": "no"}, MissingError, "404: no"),
        (409, {"message": "yes"}, ThereError, "409: yes"),
        (500, {"code": 404, "message": "no"}, MissingError, "404: no"),
        (401, {"message": f"{SECRET} is wrong"}, TableError, r"401: \*\*\* is wrong; look at uri"),
        (400, "what?", TableError, "400: what"),
        (500, {"message": SECRET}, UnsettledError, r"500: \*\*\*$"),
        (502, "<html>", UnsettledError, "502: <html>"),
        (500, {"code": "what?", "message": "no"}, UnsettledError, "500: no"),
        (200, "{", UnsettledError, "answered databases/d with '{'; expected an object in JSON"),
        (200, "[1]", UnsettledError, "expected an object in JSON"),
        (200, "[" * 100_000, UnsettledError, "expected an object in JSON"),
        (200, "x" * (1 << 27), UnsettledError, "its answer has more than 64 MiB"),
    ],
)
def test_errors(server: Server, status: int, said: Any, error: type[Exception], text: str) -> None:
    server.answers["GET /v1/p%2Fq/databases/d"] = status, said
    with pytest.raises(error, match=text) as raised:
        server.client().ask("GET", "databases", "d")
    assert SECRET not in str(raised.value)


def test_a_commit_names_table_and_snapshot(server: Server) -> None:
    server.answers["POST /v1/p%2Fq/databases/d/tables/t/commit"] = [
        (200, {"success": True}),
        (200, {"success": False}),
    ]
    told = Snapshot(3, 7, 0, "base", "delta", 1, 1, "job", 1, "APPEND", 1)
    client = server.client()
    assert client.commit("d", "t", "u-1", told)
    assert not client.commit("d", "t", "u-1", told)
    body = json.loads(server.asked[-1][2])
    assert body == {"tableId": "u-1", "snapshot": told.to_json(), "statistics": []}


def test_what_is_not_supported_is_refused(server: Server) -> None:
    with pytest.raises(TableError, match=r"token\.provider is 'oauth2', expected 'bear'"):
        server.client(token__provider="oauth2")
    with pytest.raises(TableError, match="needs the settings uri and warehouse"):
        server.client(warehouse="")
    assert not server.asked


def test_a_server_that_is_not_there_and_no_password_is_shown() -> None:
    gone = {
        "uri": "http://me:pass-word@127.0.0.1:9",
        "warehouse": "w",
        "token.provider": "bear",
        "token": SECRET,
    }
    with pytest.raises(UnsettledError, match=r"http://me:\*\*\*@127") as raised:
        rest_client.client(gone)
    assert "pass-word" not in str(raised.value)


@pytest.mark.parametrize("page", [{"tables": 7}, {"tables": [1, 2]}, {"tables": [None]}])
def test_lists_that_are_none(server: Server, page: Any) -> None:
    server.answers["GET /v1/p%2Fq/databases/n/tables"] = (200, page)
    with pytest.raises(UnsettledError, match=r"a list of tables with .*expected texts"):
        server.client().pages("tables", "databases", "n", "tables")


@pytest.mark.parametrize("answer", [{}, {"success": None}, {"success": "yes"}])
def test_a_commit_without_an_answer(server: Server, answer: Any) -> None:
    client = server.client()
    with pytest.raises(UnsettledError, match=r"a commit with .*expected success as bool"):
        client.field(answer, "success", bool, "a commit")


@pytest.mark.parametrize("settings", [{"defaults": 7}, {"overrides": ["a"]}])
def test_settings_that_are_none(server: Server, settings: Any) -> None:
    server.answers[CONFIG] = (200, settings)
    with pytest.raises(UnsettledError, match="defaults and overrides as objects"):
        server.client()


def test_a_server_that_echoes_what_it_got(server: Server) -> None:
    client = server.client(s3__secret_key="hidden-in-the-store", s3__access_key="of-the-store")
    said = f"500 {SECRET} hidden-in-the-store of-the-store" + "x" * 5000
    server.answers["GET /v1/p%2Fq/databases"] = (500, said)
    with pytest.raises(UnsettledError) as error:
        client.ask("GET", "databases")
    told = str(error.value)
    assert not any(secret in told for secret in (SECRET, "hidden-in", "of-the-store"))
    assert len(told) < 500
    assert "***" in told


@pytest.mark.parametrize("name", ["../..", "..", "a/b", "", "a\0b"])
def test_names_that_are_places(server: Server, name: str) -> None:
    catalog = RestCatalog("c", server.options, lambda layout, _: layout)
    before = len(server.asked)
    for ask in (catalog.load_namespace, catalog.list_tables):
        with pytest.raises(NoSuchNamespaceError):
            ask([name])
    with pytest.raises(NoSuchTableError):
        catalog.load_table([name], "t")
    with pytest.raises(NoSuchTableError):
        catalog.load_table(["n"], name)
    assert len(server.asked) == before


@pytest.mark.parametrize("status", [404, 501])
def test_a_server_without_views(server: Server, status: int) -> None:
    catalog = RestCatalog("c", server.options, lambda layout, _: layout)
    server.answers["GET /v1/p%2Fq/databases/n"] = (200, {"name": "n", "options": {}})
    for asked in ("GET /v1/p%2Fq/databases/n/views", "GET /v1/p%2Fq/databases/n/views/v"):
        server.answers[asked] = (status, {"message": "what is that?"})
    assert catalog.list_views(["n"]) == []
    with pytest.raises(NoSuchTableError, match=r"table c\.n\.v does not exist$"):
        catalog.load_table(["n"], "v")
    with pytest.raises(NoSuchNamespaceError, match="nowhere"):
        catalog.list_views(["nowhere"])


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_does_not_tell_this_user_of_views(server: Server, status: int) -> None:
    """Tables are made all the same: the request is sent, and here the server says one is there."""
    catalog = RestCatalog("c", server.options, lambda layout, _: layout)
    server.answers["GET /v1/p%2Fq/databases/n/views/t"] = (status, {"message": "not for you"})
    server.answers["POST /v1/p%2Fq/databases/n/tables"] = (409, {"message": "too late"})
    with pytest.raises(TableExistsError, match=r"table c\.n\.t exists"):
        catalog.create_table(["n"], "t", tables.new_table())
    words = f"table c.n.t does not exist; whether a view does is not known: .*{status}: not for you"
    with pytest.raises(NoSuchTableError, match=words):
        catalog.load_table(["n"], "t")
    with pytest.raises(TableError, match="not for you"):
        catalog.load_view(["n"], "t")
    named = {"name": "c", "options": server.options | {"metastore": "rest"}}
    with pytest.raises(NoSuchTableError, match=words):
        load_relation({"catalog": named, "ident": {"namespace": ["n"], "table": "t"}})


@pytest.mark.parametrize("path", [7, None, "", "/wh/\0/t", "/wh/../../etc"])
def test_places_that_are_none(server: Server, path: Any) -> None:
    server.answers["GET /v1/p%2Fq/databases/n/tables/t"] = (200, {"path": path, "id": "1"})
    catalog = RestCatalog("c", server.options, lambda layout, _: layout)
    with pytest.raises(UnsettledError, match=r"table (n\.)?t with .*expected"):
        catalog.load_table(["n"], "t")


def test_connections_without_a_socket_of_their_own() -> None:
    """TLS through that of a proxy, and a connection that is closed: no request fails by it."""
    closed = socket.socket()
    closed.close()
    for held in (None, closed, SSLTransport.__new__(SSLTransport)):
        acknowledge(SimpleNamespace(sock=held))
