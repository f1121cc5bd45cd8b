"""An S3 server on this machine: moto's, one request at a time, or one that the environment names:
KEYFOLD_TEST_S3='<endpoint> <access key> <secret key> <bucket>', as versitygw or MinIO.

moto looks whether a name is taken and creates it in two steps; one request at a time makes its
If-None-Match what it is in a store. It keeps objects in memory and checks no signatures.
"""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUCKET = "keyfoldtests"
COUNTS = "/--counts"  # is asked by tests, not by stores
SECRET = "a-secret-that-nobody-may-read"


def counted(options: dict[str, str]) -> dict[str, int]:
    """The requests by kind since the last call, and the `bytes` that went both ways."""
    with urllib.request.urlopen(options["s3.endpoint"] + COUNTS) as answer:
        found: dict[str, int] = json.loads(answer.read())
    return found


@contextmanager
def running(delay: float = 0.0) -> Iterator[dict[str, str]]:
    """The options of a catalog whose warehouse is on the server, which waits so many seconds before
    each answer.
    """
    named = os.environ.get("KEYFOLD_TEST_S3")
    if named:
        yield _options(*named.split())
        return
    command = [sys.executable, "-m", "tests.stores.server", str(delay)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
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
    """Serve on a port of the system's choice, which is printed, until killed."""
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
        time.sleep(float(sys.argv[1]))
        with lock:
            answer = list(app(environ, start))
            kind = environ["REQUEST_METHOD"]
            kind = "LIST" if "list-type" in environ.get("QUERY_STRING", "") else kind
            sent = int(environ.get("CONTENT_LENGTH") or 0)
            counts.update({kind: 1, "bytes": sent + sum(map(len, answer))})
            return answer

    s3_backends["123456789012"]["aws"].create_bucket(BUCKET, "us-east-1")
    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
