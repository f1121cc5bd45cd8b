"""What a session says of an object store: options, the names they have, which of them are secret.

A catalog's options name it as Paimon does (`s3.endpoint`), Hadoop's names (`fs.s3a.endpoint`) are
taken where those are silent. Only these options travel to the executors; they are no table options,
so that no schema file holds them.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

SCHEMES = ("s3", "s3a", "s3n")
ENDPOINT, REGION = "endpoint", "region"
ACCESS_KEY, SECRET_KEY, TOKEN = "access-key", "secret-key", "session.token"
_HIDDEN = "***"
# For each option the names it may have, the first that is given counts.
_NAMES = {
    ENDPOINT: ("s3.endpoint", "s3a.endpoint", "fs.s3.endpoint", "fs.s3a.endpoint"),
    REGION: (
        "s3.region",
        "s3.endpoint.region",
        "s3a.endpoint.region",
        "fs.s3.region",
        "fs.s3a.endpoint.region",
    ),
    ACCESS_KEY: (
        "s3.access-key",
        "s3.access.key",
        "s3a.access-key",
        "fs.s3.accessKeyId",
        "fs.s3a.access.key",
    ),
    SECRET_KEY: (
        "s3.secret-key",
        "s3.secret.key",
        "s3a.secret-key",
        "fs.s3.accessKeySecret",
        "fs.s3a.secret.key",
    ),
    TOKEN: ("s3.session.token", "s3a.session.token", "fs.s3.securityToken", "fs.s3a.session.token"),
}
# Hadoop's other settings of its S3 client say nothing here, and may stand beside these.
NAMES = tuple(name for names in _NAMES.values() for name in names)


def is_s3(location: str) -> bool:
    """Whether a path is an S3 URI."""
    return urlsplit(location).scheme in SCHEMES


def bucket_of(location: str) -> str:
    """The bucket of an S3 URI."""
    return urlsplit(location).netloc


def key_of(path: str) -> str:
    """The key of an S3 URI: all after the bucket, taken literally."""
    return path.split("://", 1)[1].partition("/")[2].strip("/")


def store_options(location: str, options: Mapping[str, str]) -> dict[str, str]:
    """What a client of the store at `location` needs of a catalog's options, by our names; empty
    where it is no object store. Empty values count as not given.
    """
    if not is_s3(location):
        return {}
    given = {
        ours: next((options[name] for name in names if options.get(name)), "")
        for ours, names in _NAMES.items()
    }
    return {ours: value for ours, value in given.items() if value}


def with_scheme(endpoint: str) -> str:
    """An endpoint with its protocol, https unless it says."""
    return endpoint if "://" in endpoint else f"https://{endpoint}"


def hidden(text: str, options: Mapping[str, str]) -> str:
    """A text in which no credential stands."""
    for name in (SECRET_KEY, TOKEN, ACCESS_KEY):
        if options.get(name):
            text = text.replace(options[name], _HIDDEN)
    return text
