"""Storage accounts of Azure: which one holds a container, and the settings that are for it.

Hadoop's settings may end with the address of the account that they are for, as in
`fs.azure.account.key.<account>.dfs.core.windows.net`. They go before those that are for any.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

_PUBLIC = ".core.windows.net"
_KEY, _OAUTH, _SAS = "fs.azure.account.key", "fs.azure.account.oauth2.", "fs.azure.sas."
_TYPE = "fs.azure.account.auth.type"
_LOGINS = {
    "sharedkey": (_KEY, "azure.account-key"),
    "oauth": (_OAUTH, "azure.access-token"),
    "sas": (_SAS, "azure.sas-token"),
}
_TENANT, _AUTHORITY = f"{_OAUTH}msi.tenant", f"{_OAUTH}msi.authority"
_TOKENS = f"{_OAUTH}client.endpoint"  # https://<authority>/<tenant>/oauth2/token


def container_of(bucket: str) -> str:
    """The container in `container@account.dfs.core.windows.net`, or in a bucket without account."""
    return bucket.partition("@")[0]


def of_account(bucket: str, *layers: Mapping[str, str]) -> dict[str, str]:
    """The options for the account of a bucket, under the names that options for any account have;
    its name, and its endpoint unless it is in the public cloud, are among them. Of several layers
    of options the first go before the others.
    """
    container, _, host = bucket.partition("@")
    found: dict[str, str] = {}
    for options in reversed(layers):
        found |= options
    name = host.partition(".")[0] or _named(found)
    if not name:
        return found
    host = host or f"{name}.dfs{_PUBLIC}"
    for options in reversed(layers):
        found |= options
        found |= _of_host(host, container, options)
    found["azure.account-name"] = name
    if not host.endswith(_PUBLIC) and not found.get("azure.endpoint"):
        found["azure.endpoint"] = f"https://{host.replace('.dfs.', '.blob.', 1)}"
    if found.get(_TOKENS):
        place = urlsplit(found[_TOKENS])
        found[_AUTHORITY] = f"{place.scheme}://{place.netloc}"
        found[_TENANT] = place.path.strip("/").partition("/")[0]
    return _of_type(found)


def _of_host(host: str, container: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options that are for that account alone."""
    found: dict[str, str] = {}
    for end in {host, host.replace(".blob.", ".dfs.", 1), host.replace(".dfs.", ".blob.", 1)}:
        of_it = {n.removesuffix(f".{end}"): v for n, v in options.items() if n.endswith(f".{end}")}
        if f"{_SAS}{container}" in of_it:
            of_it[f"{_SAS}fixed.token"] = of_it[f"{_SAS}{container}"]
        found |= of_it
    return found


def _named(options: Mapping[str, str]) -> str:
    """The account that the catalog or the environment names, or that the only key is for."""
    name = options.get("azure.account-name") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    keyed = {n.split(".")[4] for n in options if n.startswith(f"{_KEY}.")}
    return name or (keyed.pop() if len(keyed) == 1 else "")


def _of_type(options: dict[str, str]) -> dict[str, str]:
    """Without the logins of another type than the one that Hadoop is told to use."""
    chosen = options.get(_TYPE, "").lower()
    if chosen not in _LOGINS:
        return options
    others = tuple(n for kind, names in _LOGINS.items() if kind != chosen for n in names)
    return {n: v for n, v in options.items() if not n.startswith(others)}
