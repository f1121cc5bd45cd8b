"""A Hive Metastore's protocol: what is sent, and the one clear error of each wrong answer."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest

from keyfold.errors import NotSupportedError, StoreError, TableError
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.hive import metastore, thrift
from keyfold.storage.hive.metastore import RefusedError, metastore_of
from keyfold.storage.hive.tables import hive_type
from keyfold.types.sql import from_sql

# `get_all_databases` of a server, byte by byte: call and answer (TBinaryProtocol, strict).
CALLED = bytes.fromhex("80010001 00000011") + b"get_all_databases" + bytes.fromhex("00000000 00")
ANSWER = (
    bytes.fromhex("80010002 00000011")
    + b"get_all_databases"
    + bytes.fromhex("00000000 0f0000 0b 00000002 00000007")
    + b"default"
    + bytes.fromhex("00000004")
    + b"shop"
    + b"\0"
)
WELCOME = bytes.fromhex("80010002 00000007") + b"set_ugi" + bytes.fromhex("00000000 00")


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The uri of a server that gives each request of one connection its answer, then ends; and what
    it was sent.
    """
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for answer in answers:
                    asked.append(connection.recv(1 << 16))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"thrift://127.0.0.1:{server.getsockname()[1]}", asked
        thread.join(60)


def test_a_call_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "etl")
    with answering(WELCOME, ANSWER) as (uri, asked):
        assert metastore_of({"uri": f"thrift://127.0.0.1:1,{uri}"}).databases() == [
            "default",
            "shop",
        ]
    ugi = (
        bytes.fromhex("80010001 00000007") + b"set_ugi" + bytes.fromhex("00000000 0b0001 00000003")
    )
    ugi += b"etl" + bytes.fromhex("0f0002 0b 00000001 00000003") + b"etl\0"
    assert asked == [ugi, CALLED]


def test_a_server_that_is_silent_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a machine that is switched off: each call has a connection of its own."""
    monkeypatch.setattr(metastore, "_SECONDS_TO_CONNECT", 0.2)
    with contextlib.ExitStack() as opened:
        silent = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        place = silent.getsockname()
        for _ in range(3):  # which fill its queue
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(place)
        uri, asked = opened.enter_context(answering(WELCOME, ANSWER))
        ours = metastore_of({"uri": f"thrift://127.0.0.1:{place[1]},{uri}"})
        assert ours.databases() == ["default", "shop"]
        assert len(asked) == 2
        assert [port for _, port in ours._in_order] == [ours.addresses[1][1], place[1]]


EXCEPTION = ANSWER[:29] + bytes.fromhex("0c0001 0b0001 00000004") + b"full" + b"\0\0"
UNKNOWN = b"\x80\x01\0\x03" + ANSWER[4:29] + bytes.fromhex("0b0001 00000007") + b"no such" + b"\0"


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (EXCEPTION, RefusedError, "refused get_all_databases: full; look at"),
        (UNKNOWN, RefusedError, "refused get_all_databases: no such; look at"),
        (ANSWER[:40], StoreError, r"\(ConnectionError: the connection was closed amid an answer\)"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", StoreError, "its answer begins with 0x48545450"),
        (ANSWER.replace(b"get_all_d", b"put_all_d"), StoreError, "it answered put_all_databases"),
        (ANSWER[:32] + b"\x0b\x7f\xff\xff\xff", StoreError, "has 2147483647 bytes or items"),
        (ANSWER[:29] + b"\x05\0\0\0", StoreError, "its answer has a value of type 5"),
        (ANSWER[:29] + b"\x0c\0\0" * 9999, StoreError, r"\(RecursionError: "),
        (ANSWER[:29] + bytes.fromhex("0d0000 0c02 00000001 00 01 00"), StoreError, "unhashable"),
    ],
)
def test_a_wrong_answer_is_one_error(answer: bytes, error: type[StoreError], words: str) -> None:
    with answering(WELCOME, answer) as (uri, _), pytest.raises(error, match=words) as raised:
        metastore_of({"uri": uri}).databases()
    assert type(raised.value) is error
    assert str(raised.value).startswith(f"the Hive Metastore {uri} ")


@pytest.mark.parametrize("typed", [thrift.number(5), thrift.structs([{}]), thrift.text("x")])
def test_a_list_of_something_else(typed: thrift.Typed) -> None:
    out = BytesIO()
    thrift._write(out, thrift.STRUCT, {0: typed})
    with (
        answering(WELCOME, ANSWER[:29] + out.getvalue()) as (uri, _),
        pytest.raises(StoreError, match=r"of a Hive Metastore has types .* expected \(15, 11\)"),
    ):
        metastore_of({"uri": uri}).databases()


def test_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreError, match=rf"can't be reached \(127.0.0.1:{port}: .*uri"):
        metastore_of({"uri": f"thrift://127.0.0.1:{port}"}).databases()


@pytest.mark.parametrize(
    "uri", ["", "host:9083", "thrift://", "thrift://host:9083/x", "thrift://a:b"]
)
def test_a_wrong_uri(uri: str) -> None:
    with pytest.raises(TableError, match=r"expected thrift://host:9083, or several .*, found '"):
        metastore_of({"uri": uri})


def test_an_object_store_is_refused() -> None:
    options = {"metastore": "hive", "uri": "thrift://host", "warehouse": "s3://lake/warehouse"}
    with pytest.raises(NotSupportedError, match="a Hive catalog of s3://lake/warehouse: expected"):
        open_catalog("hive", options | {"s3.access-key": "a", "s3.secret-key": "b"})


def test_what_is_not_known_is_sent_back(tmp_path: Path) -> None:
    """Also fields of newer servers, of every type."""
    of_all = {
        1: thrift.flag(True),
        2: thrift.Typed(thrift.BYTE, -3),
        3: thrift.Typed(thrift.DOUBLE, 0.5),
        4: thrift.Typed(thrift.I16, -300),
        5: thrift.number(1 << 30),
        6: thrift.Typed(thrift.I64, 1 << 40),
        7: thrift.text("ä"),
        8: thrift.record({1: thrift.texts(["a", ""])}),
        9: thrift.pairs({"a": "b"}),
        10: thrift.Typed(thrift.SET, (thrift.I32, [1, 2])),
        11: thrift.structs([{}, {300: thrift.flag(False)}]),
        12: thrift.Typed(
            thrift.MAP, (thrift.LIST, thrift.STRING, {(thrift.STRING, (b"a", b"b")): b"c"})
        ),
    }
    out = BytesIO()
    thrift._write(out, thrift.STRUCT, of_all)
    name = bytes.fromhex("80010002 00000007") + b"set_ugi" + struct.pack("!i", 0)
    with answering(name + out.getvalue()) as (uri, _):
        host, port = uri.removeprefix("thrift://").split(":")
        connection = thrift.Service(host, int(port), 60, 60)
        found = connection.call("set_ugi")
        connection.close()
    assert found == of_all
    again = BytesIO()
    thrift._write(again, thrift.STRUCT, found)
    assert again.getvalue() == out.getvalue()


@pytest.mark.parametrize(
    ("text", "in_hive"),
    [
        ("DECIMAL(9, 2)", "decimal(9,2)"),
        ("CHAR(255)", "char(255)"),
        ("CHAR(256)", "string"),
        ("VARCHAR(65535)", "varchar(65535)"),
        ("VARCHAR(65536)", "string"),
        (
            "ARRAY<STRUCT<a: INT, b: MAP<STRING, BINARY>>>",
            "array<struct<a:int,b:map<string,binary>>>",
        ),
        ("TIMESTAMP_NTZ", "timestamp"),
        ("TIME(3)", "string"),
    ],
)
def test_types(text: str, in_hive: str) -> None:
    assert hive_type(from_sql(text)) == in_hive
