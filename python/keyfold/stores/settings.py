"""A catalog's options about a store: their names, those for its client, and the secret ones.

A catalog names an option as Paimon does (`s3.endpoint`). Hadoop's names (`fs.s3a.endpoint`) count
if those are not given, and the session's (`spark.hadoop.fs.s3a.endpoint`) if neither is. Only these
options travel to the executors. They are not table options, so that no schema file holds them.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from keyfold.errors import TableError
from keyfold.stores.azure_accounts import of_account

S3, GOOGLE, AZURE, HADOOP = ("s3", "s3a", "s3n"), "gs", ("abfss", "abfs", "az"), "hdfs"
_HIDDEN = "***"
# The options that may give each setting of a client; the first that is given counts.
_S3 = {
    "endpoint": "s3.endpoint s3a.endpoint fs.s3.endpoint fs.s3a.endpoint",
    "region": "s3.region s3.endpoint.region s3a.endpoint.region fs.s3.region "
    "fs.s3a.endpoint.region",
    "access_key_id": "s3.access-key s3.access.key s3a.access-key fs.s3.accessKeyId "
    "fs.s3a.access.key",
    "secret_access_key": "s3.secret-key s3.secret.key s3a.secret-key fs.s3.accessKeySecret "
    "fs.s3a.secret.key",
    "session_token": "s3.session.token s3a.session.token fs.s3.securityToken fs.s3a.session.token",
}
_GOOGLE = {
    "endpoint": "gcs.endpoint fs.gs.storage.root.url",
    "token": "gcs.access-token",
    "service_account": "fs.gs.auth.service.account.json.keyfile "
    "google.cloud.auth.service.account.json.keyfile",
}
_AZURE = {
    "endpoint": "azure.endpoint",
    "account_name": "azure.account-name",
    "account_key": "azure.account-key fs.azure.account.key",
    "sas_token": "azure.sas-token fs.azure.sas.fixed.token",
    "token": "azure.access-token",
    "client_id": "fs.azure.account.oauth2.client.id",
    "client_secret": "fs.azure.account.oauth2.client.secret",
    "tenant_id": "fs.azure.account.oauth2.msi.tenant",
    "authority_host": "fs.azure.account.oauth2.msi.authority",
    "federated_token_file": "fs.azure.account.oauth2.token.file",
}
_HADOOP = {
    "principal": "security.kerberos.login.principal security.principal",
    "keytab": "security.kerberos.login.keytab security.keytab",
}
# Settings of one login each; what else a catalog's own login needs, the session may give.
_APPLICATION = "client_id client_secret tenant_id authority_host federated_token_file"
_LOGINS = (
    *("access_key_id secret_access_key", "session_token", "token", "service_account"),
    *("account_key", "sas_token", _APPLICATION),
)
OF_SESSION = "spark.hadoop."  # the beginning of names that Spark's session has given
_OF_HADOOP = ("dfs.", "hadoop.", "fs.defaultFS", "fs.viewfs.")  # its client reads them itself
_NAMES = dict.fromkeys(S3, _S3) | dict.fromkeys(AZURE, _AZURE)
_NAMES |= {GOOGLE: _GOOGLE, HADOOP: _HADOOP}
_SECRET = (
    *("secret_access_key", "session_token", "access_key_id", "token"),
    *("account_key", "sas_token", "client_secret"),
)
_IN_HEADERS = ("access_key_id", "session_token", "token")  # as they are
_LOGS_IN = tuple(
    name
    for kind in (_S3, _GOOGLE, _AZURE)
    for setting in " ".join(_LOGINS).split()
    for name in kind.get(setting, "").split()
)
# Hadoop's other client settings mean nothing here, and may be given beside these.
NAMES = tuple(
    n for kind in (_S3, _GOOGLE, _AZURE, _HADOOP) for names in kind.values() for n in names.split()
)


def bucket_of(location: str) -> str:
    return urlsplit(location).netloc


def key_of(path: str) -> str:
    """The key of a URI: everything after the bucket, taken literally."""
    return path.split("://", 1)[1].partition("/")[2].strip("/")


def store_options(location: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a catalog that a client of the store at `location` needs, under the client's
    names; empty if it is a local folder. Empty values count as not given, and blanks around a
    value don't count. If the catalog itself logs in, no other login of the session counts. Raises
    TableError if a secret can't be sent.
    """
    given = {name: text for name, value in options.items() if (text := value.strip())}
    own = {n: v for n, v in given.items() if not n.startswith(OF_SESSION)}
    start = len(OF_SESSION)
    session = {n[start:]: v for n, v in given.items() if n.startswith(OF_SESSION)}
    every, ours = _translated(location, own, session), _translated(location, own)
    logins = [login.split() for login in _LOGINS]
    named = {name for login in logins if ours.keys() & set(login) for name in login}
    if not named:
        return every
    chosen = {name: value for name, value in every.items() if name in named}
    chosen = chosen or {name: value for name, value in ours.items() if name in named}
    others = {name for login in logins for name in login}
    return {name: value for name, value in every.items() if name not in others} | chosen


def with_login(options: Mapping[str, str], login: Mapping[str, str]) -> dict[str, str]:
    """A catalog's options with a login in place of all that they and the session have."""
    kept = {n: v for n, v in options.items() if not n.removeprefix(OF_SESSION).startswith(_LOGS_IN)}
    return kept | dict(login)


def _translated(location: str, *layers: Mapping[str, str]) -> dict[str, str]:
    """Options under the client's names; the first layers go before the others."""
    place = urlsplit(location)
    kind = _NAMES.get(place.scheme, {})
    if place.scheme in AZURE:
        layers = (of_account(place.netloc, *layers),)
    given = {
        setting: next((at[name] for at in layers for name in names.split() if at.get(name)), "")
        for setting, names in kind.items()
    }
    if "://" not in given.get("endpoint", "://"):
        given["endpoint"] = f"https://{given['endpoint']}" if given["endpoint"] else ""
    if "endpoint" in given:
        given["endpoint"] = given["endpoint"].rstrip("/")
    if place.scheme == HADOOP:
        given |= {n: v for n, v in layers[0].items() if n.startswith(_OF_HADOOP)}
    for setting in _IN_HEADERS:
        value = given.get(setting, "")
        if not (value.isascii() and value.isprintable()):
            raise TableError(
                f"{kind[setting].split()[0]} holds a line break or a letter that is not ASCII: "
                "copy it again, as one line"
            )
    return {setting: value for setting, value in given.items() if value}


def hidden(text: str, options: Mapping[str, str]) -> str:
    """The text with all credentials of these options hidden."""
    for name in _SECRET:
        if options.get(name):
            text = text.replace(options[name], _HIDDEN)
    return text
