"""An S3 server on this machine: moto's, one request at a time, or one that the environment names:
KEYFOLD_TEST_S3='<endpoint> <access key> <secret key> <bucket>', as versitygw or MinIO.

moto looks whether a name is taken and creates it in two steps; one request at a time makes its
If-None-Match what it is in a store. It keeps objects in memory and checks no signatures.

It serves Google's stores too. Google's XML protocol, which the client speaks, is S3's with other
names of headers and a few other answers (`_as_google`). The emulators of Google's store that there
are (fake-gcs-server 1.56, gcp-storage-emulator) speak its JSON protocol; of this one they lack
exclusive creates, uploads in parts and lists of more than one page.
"""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUCKET = "keyfoldtests"
COUNTS, FILL = "/--counts", "/--fill"  # are asked by tests, not by stores
OTHER = "KEYFOLD_TEST_S3"
SECRET = "a-secret-that-nobody-may-read"
TOKEN = "a-token-that-nobody-may-read"
App = Callable[[dict[str, Any], Any], Iterable[bytes]]


def counted(options: dict[str, str]) -> dict[str, int]:
    """The requests by kind since the last call, and the `bytes` that went both ways."""
    with urllib.request.urlopen(options["s3.endpoint"] + COUNTS, timeout=60) as answer:
        found: dict[str, int] = json.loads(answer.read())
    return found


def fill(endpoint: str, keys: list[str]) -> None:
    """Put empty files into the bucket of moto's server, in one request."""
    urllib.request.urlopen(endpoint + FILL, json.dumps(keys).encode(), timeout=60).close()


def google(options: dict[str, str]) -> dict[str, str]:
    """The options of a catalog for the same server as a store of Google's."""
    return {
        "warehouse": options["warehouse"].replace("s3:", "gs:"),
        "gcs.endpoint": options["s3.endpoint"],
        "gcs.access-token": TOKEN,
    }


@contextmanager
def running(delay: float = 0.0) -> Iterator[dict[str, str]]:
    """The options of a catalog whose warehouse is on the server, which waits so many seconds before
    each answer.
    """
    named = os.environ.get(OTHER)
    if named:
        yield _options(*named.split())
        return
    with started(delay) as options:
        yield options


@contextmanager
def started(delay: float = 0.0) -> Iterator[dict[str, str]]:
    """The same of moto's server, whatever the environment names."""
    command = [sys.executable, "-m", "tests.stores.server", str(delay)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            endpoint = server.stdout.readline().strip()
            assert endpoint, "the server ended"
            yield _options(endpoint, "the-access-key", SECRET, BUCKET)
        finally:
            server.kill()


def _options(endpoint: str, access_key: str, secret_key: str, bucket: str) -> dict[str, str]:
    return {
        "warehouse": f"s3://{bucket}/{os.getpid()}-{os.urandom(4).hex()}",
        "s3.endpoint": endpoint,
        "s3.access-key": access_key,
        "s3.secret-key": secret_key,
        "s3.region": "us-east-1",
    }


def main() -> None:
    """Serve on a port of the system's choice, which is printed, until killed or until stdin ends,
    as it does if the process of the tests is killed.
    """
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415 - a second that tests need not wait
        DomainDispatcherApplication,
        create_backend_app,
    )
    from moto.s3.models import s3_backends  # noqa: PLC0415
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

    class Quiet(WSGIRequestHandler):
        def log(self, *_: Any) -> None:
            """Say nothing."""

    app, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()
    counts: Counter[str] = Counter()

    def one_at_a_time(environ: dict[str, Any], start: Any) -> Any:
        if environ["PATH_INFO"] == COUNTS:
            with lock:
                answer = json.dumps(counts).encode()
                counts.clear()
            start("200 OK", [("Content-Type", "application/json")])
            return [answer]
        if environ["PATH_INFO"] == FILL:
            with lock:
                for key in json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))):
                    store.put_object(BUCKET, key, b"")
            start("204 No Content", [])
            return []
        time.sleep(float(sys.argv[1]))
        with lock:
            answer = list((_as_google(app) if _is_googles(environ) else app)(environ, start))
            kind = environ["REQUEST_METHOD"]
            kind = "LIST" if "list-type" in environ.get("QUERY_STRING", "") else kind
            sent = int(environ.get("CONTENT_LENGTH") or 0)
            counts.update({kind: 1, "bytes": sent + sum(map(len, answer))})
            return answer

    store = s3_backends["123456789012"]["aws"]
    store.create_bucket(BUCKET, "us-east-1")
    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


def _is_googles(environ: dict[str, Any]) -> bool:
    return str(environ.get("HTTP_AUTHORIZATION", "")).startswith("Bearer ")


def _generation(tag: str) -> str:
    """The number of what a file holds, by its ETag."""
    return str(int(tag.strip('"')[:15] or "0", 16))


def _as_google(app: App) -> App:
    """Google's store of an app that is S3's. It creates exclusively if no generation of a file may
    be there, replaces one generation, and says 404 if a file that is to be removed is not there.
    """

    def answered(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        def begin(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            named = [(n.replace("x-amz-", "x-goog-"), v) for n, v in headers]
            tags = [v for n, v in headers if n.lower() == "etag"]
            made = [("x-goog-generation", _generation(tag)) for tag in tags]
            return start(status, named + made, *more)

        def looked() -> tuple[str, dict[str, str]]:
            said: list[tuple[str, dict[str, str]]] = []
            look = environ | {"REQUEST_METHOD": "HEAD", "CONTENT_LENGTH": "0"}
            list(app(look, lambda status, headers, *_: said.append((status, dict(headers)))))
            return said[0]

        if environ["HTTP_AUTHORIZATION"] != f"Bearer {TOKEN}":
            begin("401 Unauthorized", [])
            return []
        generation = environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None)
        if generation == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        elif generation and generation != _generation(looked()[1].get("ETag", "")):
            begin("412 Precondition Failed", [])
            return []
        ours = [name for name in environ if name.startswith("HTTP_X_GOOG_META_")]
        environ |= {name.replace("GOOG", "AMZ"): environ[name] for name in ours}
        if environ["REQUEST_METHOD"] == "DELETE" and not environ.get("QUERY_STRING"):
            status, _ = looked()
            if status.startswith("404"):
                begin(status, [])
                return []
        return app(environ, begin)

    return answered


if __name__ == "__main__":
    main()
