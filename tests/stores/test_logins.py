"""Logins: tokens of an hour are renewed in a job that takes longer, by each way to log in; others
are refused in words.
"""

import base64
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from keyfold.errors import EnvironmentMismatchError
from keyfold.stores import settings
from keyfold.stores.store_kinds import KINDS
from tests.concurrency import jobs
from tests.stores import azurite, kinds, moved_clock, proxy, server
from tests.stores.proxy import Answer, Request

Options = dict[str, str]
HOUR = 3600
APPLICATION, OAUTH = "/tenant/oauth2/v2.0/token", "fs.azure.account.oauth2.client."
MACHINE = "/computeMetadata/v1/instance/service-accounts/default/token"
ROLES = "/latest/meta-data/iam/security-credentials/"


class Issuer:
    """A rule for a store and for those who hand out tokens to it, which end after an hour of the
    job's clock. Requests pass with a login that the emulators take.
    """

    def __init__(self, clock: Path) -> None:
        self.clock = clock
        self.made: list[float] = []

    def options(self, given: Options, endpoint: str) -> tuple[Options, dict[str, str]]:
        """Those of a catalog that logs in so, and the environment of its job."""
        raise NotImplementedError

    def __call__(self, request: Request) -> Answer | None:
        raise NotImplementedError

    def token(self) -> str:
        self.made.append(moved_clock.now(self.clock))
        return f"token-{len(self.made)}"

    def bearer(self) -> Answer:
        made = {"access_token": self.token(), "token_type": "Bearer", "expires_in": HOUR}
        return json_answer(made)

    def has_ended(self, token: str) -> bool:
        number = int(token.removeprefix("Bearer ").removeprefix("token-"))
        return moved_clock.now(self.clock) >= self.made[number - 1] + HOUR


def json_answer(found: object) -> Answer:
    return Answer(200, {"content-type": "application/json"}, json.dumps(found).encode())


class AzureApplication(Issuer):
    """Entra ID, and a store that takes its tokens, which the emulator does by TLS only."""

    def options(self, given: Options, endpoint: str) -> tuple[Options, dict[str, str]]:
        own = {name: value for name, value in given.items() if "account.key" not in name}
        authority = endpoint.removesuffix(f"/{azurite.ACCOUNT}")
        own |= {f"{OAUTH}id": "app", f"{OAUTH}secret": "its-secret"}
        return own | {f"{OAUTH}endpoint": f"{authority}/tenant/oauth2/token"}, {}

    def __call__(self, request: Request) -> Answer | None:
        if request.path == APPLICATION:
            asked = parse_qs(request.body.decode())
            assert (asked["client_id"], asked["client_secret"]) == (["app"], ["its-secret"])
            return self.bearer()
        if self.has_ended(request.headers.pop("authorization")):
            return Answer(401)
        request.path += f"{'&' if '?' in request.path else '?'}{azurite.sas_token()}"
        return None


class GoogleMachine(Issuer):
    """The service account of a machine of Google's."""

    def options(self, given: Options, endpoint: str) -> tuple[Options, dict[str, str]]:
        own = {name: value for name, value in given.items() if name != "gcs.access-token"}
        return own, {"GCE_METADATA_HOST": endpoint.removeprefix("http://")}

    def __call__(self, request: Request) -> Answer | None:
        if request.path.partition("?")[0] == MACHINE:
            assert request.headers["metadata-flavor"] == "Google"
            return self.bearer()
        if self.has_ended(request.headers["authorization"]):
            return Answer(401)
        request.headers["authorization"] = f"Bearer {server.TOKEN}"
        return None


class GoogleKey(Issuer):
    """A service account's key: its tokens are made, and signed, by the client itself."""

    def __init__(self, clock: Path) -> None:
        super().__init__(clock)
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def options(self, given: Options, endpoint: str) -> tuple[Options, dict[str, str]]:
        text = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        made = {"type": "service_account", "private_key": text, "private_key_id": "1"}
        path = self.clock.with_name("key.json")
        path.write_text(json.dumps(made | {"client_email": "me@there"}))
        own = {name: value for name, value in given.items() if name != "gcs.access-token"}
        return own | {"fs.gs.auth.service.account.json.keyfile": str(path)}, {}

    def __call__(self, request: Request) -> Answer | None:
        token = request.headers["authorization"].removeprefix("Bearer ")
        signed, _, signature = token.rpartition(".")
        self.key.public_key().verify(
            decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        claims = json.loads(decoded(signed.partition(".")[2]))
        assert claims["iss"] == "me@there"
        if claims["iat"] not in self.made:
            self.made.append(claims["iat"])
        if not claims["iat"] <= moved_clock.now(self.clock) < claims["exp"] <= claims["iat"] + HOUR:
            return Answer(401)
        request.headers["authorization"] = f"Bearer {server.TOKEN}"
        return None


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class RoleOfMachine(Issuer):
    """The role of a machine of AWS's, which is asked as a session of its metadata."""

    def options(self, given: Options, endpoint: str) -> tuple[Options, dict[str, str]]:
        own = {name: value for name, value in given.items() if not name.endswith("-key")}
        return own, {"AWS_METADATA_ENDPOINT": endpoint}

    def __call__(self, request: Request) -> Answer | None:
        if request.path == "/latest/api/token":
            return Answer(200, {}, b"a-session")
        if request.path.startswith(ROLES):
            assert request.headers["x-aws-ec2-metadata-token"] == "a-session"
            return self.role() if request.path != ROLES else Answer(200, {}, b"a-role")
        found = re.search(r"Credential=([^/]+)/", request.headers["authorization"])
        if found is None or self.has_ended(found[1]):
            return Answer(403)
        assert request.headers["x-amz-security-token"] == f"session of {found[1]}"
        return None

    def role(self) -> Answer:
        token = self.token()
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.made[-1] + HOUR))
        given = {"AccessKeyId": token, "SecretAccessKey": "hush", "Token": f"session of {token}"}
        own = {"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": until, "Expiration": until}
        return json_answer(given | own)


@pytest.mark.parametrize(
    ("served", "login"),
    [
        ("azure", AzureApplication),
        ("google", GoogleMachine),
        ("google", GoogleKey),
        ("s3", RoleOfMachine),
    ],
    indirect=["served"],
)
def test_tokens_are_renewed(
    options: Options, login: Callable[[Path], Issuer], tmp_path: Path
) -> None:
    """A job of two hours; what it was let in by first ends after one."""
    issuer = login(tmp_path / "clock")
    with proxy.before(options[kinds.endpoint_of(options)], issuer) as endpoint:
        own, environment = issuer.options(kinds.at(options, endpoint), endpoint)
        moved_clock.run(own, issuer.clock, environment)
    assert issuer.made[-1] - issuer.made[0] >= moved_clock.APART
    assert 1 < len(issuer.made) <= moved_clock.COMMITS


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
