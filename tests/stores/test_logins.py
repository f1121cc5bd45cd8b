"""Logins whose tokens end: a server before the store counts a token's hour as two seconds, and
takes none that ended long ago.
"""

import base64
import json
import time
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from keyfold.errors import EnvironmentMismatchError
from keyfold.stores import settings
from keyfold.stores.kinds import KINDS
from tests.concurrency import jobs
from tests.concurrency.jobs import Write, rows_of, table_of
from tests.stores import azurite, kinds, proxy, server
from tests.stores.proxy import Answer, Request

Options = dict[str, str]
SECONDS = 2  # that a token is good for
LATE = 3  # more that it is taken for: a request may be long on its way
EARLY = 300  # seconds before a token ends, from which on the client renews it
TOKENS = "/tenant/oauth2/v2.0/token"


class Entra:
    """A rule that hands out tokens to an application, and takes those of the last seconds. Requests
    pass with a signature in place of the token, as the emulator takes tokens by TLS only.
    """

    def __init__(self) -> None:
        self.made: list[float] = []

    def __call__(self, request: Request) -> Answer | None:
        if request.path == TOKENS:
            asked = parse_qs(request.body.decode())
            assert (asked["client_id"], asked["client_secret"]) == (["app"], ["its-secret"])
            self.made.append(time.monotonic())
            token = {"access_token": f"token-{len(self.made)}", "token_type": "Bearer"}
            found = json.dumps(token | {"expires_in": EARLY + SECONDS})
            return Answer(200, {"content-type": "application/json"}, found.encode())
        number = int(request.headers.pop("authorization").removeprefix("Bearer token-"))
        if time.monotonic() > self.made[number - 1] + SECONDS + LATE:
            return Answer(401)
        request.path += f"{'&' if '?' in request.path else '?'}{azurite.sas_token()}"
        return None


@pytest.mark.parametrize("served", ["azure"], indirect=True)
def test_azures_tokens_are_renewed(options: Options) -> None:
    entra = Entra()
    oauth = "fs.azure.account.oauth2.client."
    options = {name: value for name, value in options.items() if "account.key" not in name}
    with proxy.before(options["azure.endpoint"], entra) as endpoint:
        authority = endpoint.removesuffix(f"/{azurite.ACCOUNT}")
        options |= {
            "azure.endpoint": endpoint,
            f"{oauth}id": "app",
            f"{oauth}secret": "its-secret",
            f"{oauth}endpoint": f"{authority}/tenant/oauth2/token",
        }
        jobs.made(options)
        until = time.monotonic() + 3 * SECONDS
        number = 0
        while time.monotonic() < until:
            Write(options, [{"k": number, "v": number}]).run().commit()
            number += 1
            time.sleep(0.2)
        assert rows_of(table_of(options)) == {k: k for k in range(number)}
    assert entra.made[-1] > entra.made[0] + SECONDS


@pytest.mark.parametrize("served", ["google"], indirect=True)
def test_a_key_file_of_googles(options: Options, tmp_path: Path) -> None:
    """Its tokens are made, and signed, by the client itself."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    made = {"type": "service_account", "private_key": text, "private_key_id": "1"}
    path = tmp_path / "key.json"
    path.write_text(json.dumps(made | {"client_email": "me@there"}))

    def rule(request: Request) -> None:
        token = request.headers["authorization"].removeprefix("Bearer ")
        signed, _, signature = token.rpartition(".")
        key.public_key().verify(
            decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        claims = json.loads(decoded(signed.partition(".")[2]))
        assert claims["iss"] == "me@there"
        assert time.time() < claims["exp"] < time.time() + 3601
        request.headers["authorization"] = f"Bearer {server.TOKEN}"

    del options["gcs.access-token"]
    with proxy.before(options["gcs.endpoint"], rule) as endpoint:
        options = kinds.at(options, endpoint)
        options["fs.gs.auth.service.account.json.keyfile"] = str(path)
        jobs.made(options)
        Write(options, [{"k": 1, "v": 1}]).run().commit()
        assert rows_of(table_of(options)) == {1: 1}


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.parametrize("served", ["google"], indirect=True)
def test_a_token_that_is_not_taken(options: Options) -> None:
    options["gcs.access-token"] = "an-old-token"
    with pytest.raises(
        EnvironmentMismatchError, match=r"gs://.* can't be reached .*401.*gcs.access-token"
    ) as raised:
        jobs.catalog(options)
    assert "an-old-token" not in str(raised.value)


def test_a_login_of_the_environment_is_not_taken_for_the_catalogs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    place = "abfss://lake@acct.dfs.core.windows.net/w"
    named = settings.store_options(place, {"fs.azure.account.oauth2.client.id": "app"})
    with pytest.raises(EnvironmentMismatchError, match="AZURE_STORAGE_ACCOUNT_KEY of the env"):
        KINDS["abfss"].client(settings.bucket_of(place), named, {})


def test_an_account_that_nobody_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(
        EnvironmentMismatchError, match=r"Account must be specified.*azure\.account-name"
    ):
        jobs.catalog({"warehouse": "az://lake/w"})
