"""The kinds of object stores: how the client of each is made, and how they differ.

A client logs in by the catalog's settings; if they name no login, by the environment, and then as
the machine does. What a catalog sets goes before the environment, also if that logs in otherwise.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from obstore.store import AzureStore, GCSStore, S3Store

from keyfold.errors import EnvironmentMismatchError
from keyfold.stores import settings
from keyfold.stores.azure_accounts import container_of

Client = Callable[[str, Mapping[str, str], Any], Any]

# A second or two. Uploads, which can't begin anew, are patient: their store may be throttling.
QUICK: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
PATIENT: Any = {
    "max_retries": 10,
    "retry_timeout": timedelta(minutes=3),
    "backoff": {
        "init_backoff": timedelta(seconds=0.1),
        "max_backoff": timedelta(seconds=15),
        "base": 4,
    },
}
_OTHER_LOGINS = ("TOKEN", "ACCOUNT_KEY", "ACCESS_KEY", "MASTER_KEY")


@dataclass(frozen=True)
class StoreKind:
    """A kind of object store: the function that makes a client from a bucket, settings and retries,
    where buckets are unless the setting `endpoint` says so, and the advice if the store refuses.
    """

    client: Client
    place: str
    endpoint: str
    advice: str
    knows_ends: bool = True  # can be asked for the last bytes of a file of unknown size
    is_slow_to_fail: bool = True  # its client looks minutes for a login


def _s3(bucket: str, options: Mapping[str, str], retries: Any) -> S3Store:
    given: Any = dict(options)
    return S3Store(bucket, config=given, client_options=_plain(options), retry_config=retries)


def _google(bucket: str, options: Mapping[str, str], retries: Any) -> GCSStore:
    names = {"endpoint": "base_url", "service_account": "service_account"}
    given: Any = {theirs: options[ours] for ours, theirs in names.items() if ours in options}
    return GCSStore(
        bucket,
        config=given,
        credential_provider=_login(options, token="token"),
        client_options=_plain(options),
        retry_config=retries,
    )


def _azure(bucket: str, options: Mapping[str, str], retries: Any) -> AzureStore:
    login = _login(options, access_key="account_key", sas_token="sas_token", token="token")
    _check_alone(options)
    fixed = ("account_key", "sas_token", "token")
    given: Any = {name: value for name, value in options.items() if name not in fixed}
    return AzureStore(
        container_of(bucket),
        config=given,
        credential_provider=login,
        client_options=_plain(options),
        retry_config=retries,
    )


def _plain(options: Mapping[str, str]) -> Any:
    """Options of the client that allow requests without TLS, if a setting names such an address."""
    return {"allow_http": True} if options.get("endpoint", "").startswith("http://") else None


def _login(options: Mapping[str, str], **names: str) -> Any:
    """A function that the client asks for its login; None if no setting has one. `names` are the
    names of the settings by those of the client.
    """
    for theirs, ours in names.items():
        if ours in options:
            found: Any = {theirs: options[ours], "expires_at": None}
            return lambda: found
    return None


def _check_alone(options: Mapping[str, str]) -> None:
    """Raises EnvironmentMismatchError if the client would log in as the environment says, and not
    as the application that the catalog names.
    """
    for name in _OTHER_LOGINS if "client_id" in options else ():
        if os.environ.get(f"AZURE_STORAGE_{name}"):
            raise EnvironmentMismatchError(
                f"AZURE_STORAGE_{name} of the environment would be used in place of the catalog's "
                "fs.azure.account.oauth2.*: unset it, or leave those settings out"
            )


KINDS = {
    **dict.fromkeys(
        settings.S3,
        StoreKind(
            _s3,
            place="AWS",
            endpoint="s3.endpoint",
            advice="look at s3.endpoint, s3.region, s3.access-key and s3.secret-key of the catalog "
            "(or spark.hadoop.fs.s3a.*)",
            is_slow_to_fail=False,
        ),
    ),
    settings.GOOGLE: StoreKind(
        _google,
        place="Google",
        endpoint="gcs.endpoint",
        advice="look at fs.gs.auth.service.account.json.keyfile, gcs.access-token and gcs.endpoint "
        "of the catalog, or does GOOGLE_APPLICATION_CREDENTIALS name a key that may write there?",
    ),
    **dict.fromkeys(
        settings.AZURE,
        StoreKind(
            _azure,
            place="Azure",
            endpoint="azure.endpoint",
            advice="look at azure.account-name, azure.account-key, azure.sas-token and "
            "azure.endpoint of the catalog (or spark.hadoop.fs.azure.*, or AZURE_STORAGE_* of the "
            "environment)",
            knows_ends=False,
        ),
    ),
}
