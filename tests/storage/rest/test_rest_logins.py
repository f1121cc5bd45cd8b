"""Logins of REST catalogs: signatures, and keys that are renewed."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.storage.rest.dlf import AccessKey, Request, signed_by_default, signed_by_openapi
from keyfold.storage.rest.logins import login_of
from tests.storage.rest.answering import CONFIG, Server

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
BASE = "/v1/p%2Fq/databases"
# What DLFDefaultSigner and DLFOpenApiSigner of Paimon 1.4.2 make of each.
SIGNED = [
    (
        None,
        Request("GET", "/v1/config", {"warehouse": "my+shop"}, None, "h:1"),
        "8e89c7163d10e4c8e4e0059068917d080f4a7ef028054e9e4036c22f3af29eb4",
        "eQQ53W/2Eez4RpUbXdDECWJUO8U=",
    ),
    (
        None,
        Request("POST", "/v1/p%2Fq/databases/a+b/tables/t%24branch_b", {}, '{"name": "é"}', "h:1"),
        "acfe2ab4e15cf230643535697b337ad0469a254088d9e00558517090d2c6adf4",
        "rbDMHgPAZy3d7EERY+YZF5374S8=",
    ),
    (
        None,
        Request("GET", "/v1/p/databases", {"pageToken": "b=", "maxResults": ""}, "", "h:1"),
        "4a4e91c3190ec89b4308bc297994f04324eae05bbadb5c7e731ddaeb219ccef8",
        "vNBs2Nvj2jVrEtDwZmhpOSY7Eq4=",
    ),
    (
        "a-security-token",
        Request("GET", "/v1/config", {"warehouse": "my+shop"}, None, "h:1"),
        "56dcda870a1d462f753852505a8d2205153beddd009f8cef6a1a88243b35dbed",
        "6QOAYSUy9qNKvcT9IhSQghFf8f4=",
    ),
    (
        "a-security-token",
        Request("POST", "/v1/p%2Fq/databases/a+b/tables/t%24branch_b", {}, '{"name": "é"}', "h:1"),
        "04a3cf4e3e4c58c1ae7515880a7194f2df9fcd6d271bbf6195f46963d947d897",
        "o3lCar43BYrYGHKg1PE9tumaT48=",
    ),
    (
        "a-security-token",
        Request("GET", "/v1/p/databases", {"pageToken": "b=", "maxResults": ""}, "", "h:1"),
        "94b7cd9233e6e905e1154fd72840d5b68cb567f09cdc638ba38efeea0126dc04",
        "uyQySLxWxA6kJqS1MNVtaJe6PD0=",
    ),
]


@pytest.mark.parametrize(("security", "request_", "default", "openapi"), SIGNED)
def test_signatures_are_those_of_java(
    security: str | None, request_: Request, default: str, openapi: str
) -> None:
    key = AccessKey("an-id", "a-secret", security)
    made = signed_by_default(request_, key, NOW, "cn-hangzhou")
    scope = "an-id/20260304/cn-hangzhou/DlfNext/aliyun_v4_request"
    assert made["Authorization"] == f"DLF4-HMAC-SHA256 Credential={scope},Signature={default}"
    assert made["x-dlf-date"] == "20260304T050607Z"
    assert made.get("x-dlf-security-token") == security
    made = signed_by_openapi(request_, key, NOW, "n1")
    assert made["Authorization"] == f"acs an-id:{openapi}"
    assert made["Date"] == "Wed, 04 Mar 2026 05:06:07 GMT"
    assert made.get("x-acs-security-token") == security
    nonces = {signed_by_openapi(request_, key, NOW)["x-acs-signature-nonce"] for _ in range(3)}
    assert len(nonces) == 3


def told(number: int, seconds: float) -> str:
    ends = datetime.fromtimestamp(time.time() + seconds, timezone.utc)
    return json.dumps(
        {
            "AccessKeyId": f"id-number-{number}",
            "AccessKeySecret": f"secret-number-{number}",
            "SecurityToken": f"security-number-{number}",
            "Expiration": ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )


def dlf(server: Server, **more: str) -> Server:
    """The server as a catalog whose requests are signed."""
    server.options = {k: v for k, v in server.options.items() if not k.startswith("token")}
    server.options |= {"token.provider": "dlf", "dlf.region": "cn-hangzhou"}
    server.options |= {f"dlf.{name.replace('_', '-')}": value for name, value in more.items()}
    return server


def signer(server: Server) -> str:
    """Whose key signed the last request."""
    headers = server.asked[-1][1]
    assert headers["x-dlf-security-token"].startswith("security-number-")
    return headers["Authorization"].partition("Credential=")[2].partition("/")[0]


def test_a_key_in_a_file_is_renewed_an_hour_before_it_ends(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text(told(1, 7200))
    client = dlf(server, token_path=str(file)).client()
    server.answers[f"GET {BASE}"] = 200, {}
    file.write_text(told(2, 3599))
    client.ask("GET", "databases")
    assert signer(server) == "id-number-1"
    client = server.client()
    for number in (3, 4):
        file.write_text(told(number, 3599))
        client.ask("GET", "databases")
        assert signer(server) == f"id-number-{number}"
    server.answers[f"GET {BASE}"] = 403, {"message": "secret-number-4 security-number-4"}
    with pytest.raises(TableError, match=r"403: \*\*\* \*\*\*;"):
        client.ask("GET", "databases")
    file.write_text('{"AccessKeyId": "half')
    with pytest.raises(TableError, match=r"key\.json \(dlf\.token-path\) is not a key") as raised:
        client.ask("GET", "databases")
    assert "half" not in str(raised.value)


def test_a_key_of_the_machine(server: Server) -> None:
    place = server.options["uri"] + "roles/"
    client = dlf(server, token_loader="ecs", token_ecs_metadata_url=place)
    server.answers["GET /roles/"] = 200, "a-role"
    server.answers["GET /roles/a-role"] = 200, told(5, 7200)
    client.client()
    assert signer(server) == "id-number-5"
    assert server.asked[-1][0] == CONFIG
    named = dlf(server, token_loader="ecs", token_ecs_metadata_url=place, token_ecs_role_name="b")
    for answer, text in (((404, "no"), "404"), ((200, "[]"), "AttributeError|TypeError")):
        server.answers["GET /roles/b"] = answer
        with pytest.raises(TableError, match=rf"roles/b \(dlf\..*\) is not a key \(({text})\)"):
            named.client()


REFUSED: list[tuple[dict[str, str], type[KeyfoldError], str]] = [
    ({}, TableError, "expected 'bear', with the setting token, or 'dlf'"),
    ({"token.provider": "bear"}, TableError, "with the setting token"),
    ({"token.provider": "oauth2"}, TableError, "is 'oauth2', expected 'bear'"),
    ({"token.provider": "dlf"}, TableError, "expected dlf.token-path"),
    ({"token.provider": "dlf", "dlf.token-loader": "mine"}, NotSupportedError, "is 'mine'"),
    ({"token.provider": "dlf", "dlf.signing-algorithm": "x"}, NotSupportedError, "is 'x'"),
    ({"token.provider": "dlf", "uri": "http://h"}, TableError, "set dlf.region"),
]


@pytest.mark.parametrize(("given", "kind", "text"), REFUSED)
def test_logins_that_lack_something(
    given: dict[str, str], kind: type[KeyfoldError], text: str
) -> None:
    key = {"dlf.access-key-id": "i", "dlf.access-key-secret": "s"}
    more = key if "uri" in given or "dlf.signing-algorithm" in given else {}
    with pytest.raises(kind, match=text):
        login_of({"uri": "http://cn-hangzhou-vpc.dlf.example"} | more | given, "shown")


@pytest.mark.parametrize(
    ("uri", "header"),
    [
        ("http://cn-hangzhou-vpc.dlf.example", "/cn-hangzhou/DlfNext/"),
        ("http://dlfnext.cn-hangzhou.example", "acs i:"),
    ],
)
def test_the_address_tells_region_and_signature(uri: str, header: str) -> None:
    key: dict[str, Any] = {"dlf.access-key-id": "i", "dlf.access-key-secret": "s"}
    login = login_of({"token.provider": "dlf", "uri": uri} | key, "shown")
    assert header in login.headers(Request("GET", "/v1", {}, None, "h"))["Authorization"]
    assert "s" in login.secrets()
