"""Tables whose store takes the tokens alone that a REST server hands out for them: a server before
the store lets none of the catalog's own logins pass, and no token that has been replaced.
"""

import json
import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from keyfold.errors import NoSuchTableError, TableError
from keyfold.storage.rest import data_tokens
from keyfold.stores.files import UnsettledError
from tests.concurrency import jobs
from tests.concurrency.jobs import Write, rows_of, table_of
from tests.storage.rest import answering
from tests.storage.rest.answering import CONFIG, Server
from tests.stores import proxy
from tests.stores.proxy import Answer, Request
from tests.stores.test_objects import files_of

Options = dict[str, str]
TABLE = "GET /v1/databases/default/tables/t"
TOKEN, COMMIT = f"{TABLE}/token", f"POST{TABLE[3:]}/commit"
LIFE = 2 * 3600  # seconds that a token is good for
SECRET = "a-secret-of-the-token"
S3 = pytest.mark.parametrize("served", ["s3"], indirect=True)


class Tokens:
    """A rule that lets requests with the newest token pass."""

    def __init__(self) -> None:
        self.made = 0
        self.seen: set[str] = set()

    def __call__(self, request: Request) -> Answer | None:
        found = re.search(r"Credential=([^/]+)/", request.headers["authorization"])
        key = found[1] if found else "nobody"
        self.seen.add(key)
        taken = key == f"token-{self.made}" and "x-amz-security-token" in request.headers
        return None if taken else Answer(403)

    def hand_out(self, *_: Any) -> tuple[int, dict[str, Any]]:
        self.made += 1
        token = {
            "fs.s3a.access.key": f"token-{self.made}",
            "fs.s3a.secret.key": SECRET,
            "fs.s3a.session.token": f"session-{self.made}",
        }
        return 200, {"token": token, "expiresAtMillis": int((time.time() + LIFE) * 1000)}


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def place(options: Options, tokens: Tokens) -> Iterator[tuple[Options, Server]]:
    """A REST catalog with a table in the store, and its server, which publishes snapshots there
    with a login of its own.
    """
    made = jobs.made(options)
    Write(options, [{"k": 1, "v": 1}]).run().commit()
    location = made.layout.location

    def publish(_: Any, body: str) -> tuple[int, dict[str, Any]]:
        snapshot = json.loads(body)["snapshot"]
        path = f"{location}/snapshot/snapshot-{snapshot['id']}"
        return 200, {
            "success": bool(files_of(options).publish(path, json.dumps(snapshot).encode()))
        }

    with proxy.before(options["s3.endpoint"], tokens) as endpoint, answering.running() as server:
        server.answers |= {
            CONFIG: (200, {"overrides": {"data-token.enabled": "true"}}),
            TABLE: (200, {"path": location, "id": "u-1"}),
            TOKEN: tokens.hand_out,
            COMMIT: publish,
        }
        own = {name: value for name, value in options.items() if name != "warehouse"}
        yield server.options | own | {"s3.endpoint": endpoint}, server


@S3
def test_a_table_is_read_and_written_by_its_token(
    place: tuple[Options, Server], tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is renewed an hour before it ends."""
    catalog, server = place
    Write(catalog, [{"k": 2, "v": 2}]).run().commit()
    assert rows_of(table_of(catalog)) == {1: 1, 2: 2}
    assert server.count(TOKEN) == 1
    moved = SimpleNamespace(time=lambda: time.time() + LIFE / 2 + 10)
    monkeypatch.setattr(data_tokens, "time", moved)
    Write(catalog, [{"k": 3, "v": 3}]).run().commit()
    assert rows_of(table_of(catalog)) == {1: 1, 2: 2, 3: 3}
    assert tokens.seen >= {"token-1", "token-2"}
    assert all(key.startswith("token-") for key in tokens.seen)


@S3
def test_a_token_that_the_store_refuses_is_not_shown(
    place: tuple[Options, Server], tokens: Tokens
) -> None:
    catalog, _ = place
    found = table_of(catalog)
    assert SECRET not in repr(found)
    tokens.made += 1
    with pytest.raises(OSError, match="403") as raised:
        rows_of(found)
    assert SECRET not in str(raised.value)


@S3
def test_a_table_that_is_made_anew_has_a_token_of_its_own(place: tuple[Options, Server]) -> None:
    """The one before lets nobody into the new one's folder."""
    catalog, server = place
    location = table_of(catalog).layout.location
    server.answers[TABLE] = 200, {"path": location, "id": "u-2"}
    assert table_of(catalog).uuid == "u-2"
    assert server.count(TOKEN) == 2
    assert rows_of(table_of(catalog)) == {1: 1}
    assert server.count(TOKEN) == 2


@S3
def test_answers_that_are_no_tokens(place: tuple[Options, Server]) -> None:
    catalog, server = place
    odd = UnsettledError, r"data token of table default\.t.*expected token with texts"
    unseen = UnsettledError, r"tables/t/token with 'a text of \d+ letters'.*expected an object"
    for answer, error, text in (
        ((404, {"message": "no"}), NoSuchTableError, r"default\.t has no data token"),
        ((200, {"token": SECRET, "expiresAtMillis": 1}), *odd),
        ((200, {"token": {"s3.access-key": SECRET}}), *odd),
        ((200, {"token": {"s3.access-key": 7}, "expiresAtMillis": 1}), *odd),
        ((200, [{"s3.access-key": SECRET}]), *unseen),
        ((200, f'{{"token": {{"s3.access-key": "{SECRET}'), *unseen),
        ((400, {"token": {"s3.access-key": SECRET}}), TableError, "answered 400: token"),
    ):
        server.answers[TOKEN] = answer
        with pytest.raises(error, match=text) as raised:
            table_of(catalog)
        assert SECRET not in str(raised.value)
