"""Signatures of requests to Alibaba Cloud's Data Lake Formation (`token.provider` = dlf).

Both kinds sign the request with an access key, as Paimon's Java does: `default` for the endpoints
in a private network, `openapi` for the public ones.
"""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import quote_plus, unquote_plus

_JSON = "application/json"
_PRODUCT, _REQUEST = "DlfNext", "aliyun_v4_request"
_ALGORITHM = "DLF4-HMAC-SHA256"


@dataclass(frozen=True)
class AccessKey:
    """A key that signs requests; `security` is the token of a key that lives for a time."""

    id: str
    secret: str = field(repr=False)
    security: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Request:
    """One request: its path below the server's address, its parameters as they are before they
    are quoted for an address, and its body.
    """

    method: str
    path: str
    query: Mapping[str, str]
    body: str | None
    host: str


def signed_by_default(
    request: Request, key: AccessKey, now: datetime, region: str
) -> dict[str, str]:
    """The headers of a request that is signed for a region."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "x-dlf-date": moment,
        "x-dlf-content-sha256": "UNSIGNED-PAYLOAD",
        "x-dlf-version": "v1",
    }
    if request.body:
        headers |= {"Content-Type": _JSON, "Content-MD5": _md5(request.body)}
    if key.security is not None:
        headers["x-dlf-security-token"] = key.security
    lines = [f"{name.lower()}:{headers[name].strip()}" for name in sorted(headers, key=str.lower)]
    query = _joined({name: quote_plus(text, safe="*") for name, text in request.query.items()})
    payload = headers["x-dlf-content-sha256"]
    canonical = "\n".join([request.method, request.path, query, *lines, payload])
    scope = f"{moment[:8]}/{region}/{_PRODUCT}/{_REQUEST}"
    text = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signing = f"aliyun_v4{key.secret}".encode()
    for part in (*scope.split("/"), text):
        signing = hmac.new(signing, part.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"{_ALGORITHM} Credential={key.id}/{scope},Signature={signing.hex()}"
    return headers


def signed_by_openapi(
    request: Request, key: AccessKey, now: datetime, nonce: str = ""
) -> dict[str, str]:
    """The headers of a request to a public endpoint; each has a `nonce` of its own."""
    headers = {
        "Date": format_datetime(now, usegmt=True),
        "Accept": _JSON,
        "Host": request.host,
        "x-acs-signature-method": "HMAC-SHA1",
        "x-acs-signature-nonce": nonce or str(uuid.uuid4()),
        "x-acs-signature-version": "1.0",
        "x-acs-version": "2026-01-18",
    }
    if request.body:
        headers |= {"Content-Type": _JSON, "Content-MD5": _md5(request.body)}
    if key.security is not None:
        headers["x-acs-security-token"] = key.security
    first = [headers.get(n, "") for n in ("Accept", "Content-MD5", "Content-Type", "Date")]
    own = [f"{n}:{headers[n].strip()}" for n in sorted(headers) if n.startswith("x-acs-")]
    query = f"?{_joined(request.query)}" if request.query else ""
    resource = unquote_plus(request.path) + query
    text = "\n".join([request.method, *first, *own, resource])
    made = hmac.new(key.secret.encode(), text.encode(), hashlib.sha1).digest()
    return headers | {"Authorization": f"acs {key.id}:{base64.b64encode(made).decode()}"}


def _joined(query: Mapping[str, str]) -> str:
    return "&".join(f"{name}={query[name]}" if query[name] else name for name in sorted(query))


def _md5(text: str) -> str:
    digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()
