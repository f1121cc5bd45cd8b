"""Files of a bucket of an object store: read in ranges, listed, published by conditional put.

There are no folders, only keys with a common beginning, and nothing can be renamed. A process makes
the client when it first needs it, never before a fork.
"""

import contextlib
import io
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import pyarrow as pa
from obstore import open_writer
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError
from obstore.store import GCSStore, S3Store

from keyfold.errors import EnvironmentMismatchError, TableError
from keyfold.lazy import cached_property
from keyfold.stores import settings
from keyfold.stores.files import Entry, Files, Span, UnsettledError, check_size

_MARK = "keyfold-put"  # metadata of an object: the put that made it
_ATTEMPTS = 4
PAUSE = 0.2
_RETRIES: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_REFUSALS = ("PermissionDeniedError", "UnauthenticatedError", "NotSupportedError")
_OF_FILES = ("reading", "looking for")  # a file is missing then, else the bucket
_PART, _PARTS = 8 << 20, 4  # bytes of a request that writes, and requests at once
_BUFFER = 1 << 20  # bytes for one call of the client, which costs as much as a page
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class StoreKind:
    """A kind of object store: the function that makes its client from a bucket and settings,
    whether a file can be created exclusively, and the advice if the store refuses.
    """

    client: Callable[[str, Mapping[str, str]], Any]
    is_writable: bool
    advice: str


def _s3(bucket: str, options: Mapping[str, str]) -> S3Store:
    plain: Any = {"allow_http": options.get("endpoint", "").startswith("http://")}
    given: Any = dict(options)
    return S3Store(bucket, config=given, client_options=plain, retry_config=_RETRIES)


def _google(bucket: str, options: Mapping[str, str]) -> GCSStore:
    token: Any = {"token": options.get("token"), "expires_at": None}
    login = (lambda: token) if "token" in options else None
    return GCSStore(bucket, credential_provider=login, retry_config=_RETRIES)


KINDS = {
    **dict.fromkeys(
        settings.S3,
        StoreKind(
            _s3,
            is_writable=True,
            advice="look at s3.endpoint, s3.region, s3.access-key and s3.secret-key of the catalog "
            "(or spark.hadoop.fs.s3a.*)",
        ),
    ),
    settings.GOOGLE: StoreKind(
        _google,
        is_writable=False,
        advice="is there a network, and does GOOGLE_APPLICATION_CREDENTIALS name a key that may "
        "read it?",
    ),
}


class ClientUse:
    """This process: whether it has used a client, and whether one that had was forked to it. The
    threads that all clients share stay with the parent, and calls would wait for ever.
    """

    has_clients = False
    is_lost = False

    def forked(self) -> None:
        """Remember that this process is a child."""
        self.is_lost = self.has_clients

    def check(self, root: str) -> None:
        """Raises EnvironmentMismatchError if no client works here."""
        if self.is_lost:
            raise EnvironmentMismatchError(
                f"{root} can't be reached from this process, which was forked from one that has "
                "used an object store: start processes with 'spawn' (multiprocessing.get_context) "
                "or 'forkserver'"
            )


PROCESS = ClientUse()
os.register_at_fork(after_in_child=PROCESS.forked)


@dataclass(frozen=True)
class ObjectFiles(Files):
    """The bucket that `root` begins with; paths are URIs of that bucket."""

    root: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def _kind(self) -> StoreKind:
        return KINDS[self.root.partition("://")[0]]

    @property
    def is_writable(self) -> bool:
        return self._kind.is_writable

    @cached_property
    def client(self) -> Any:
        """obstore's client of the bucket."""
        PROCESS.has_clients = True
        return self._kind.client(settings.bucket_of(self.root), self.options)

    # ---- reading ----

    def read(self, path: str) -> bytes:
        def content(key: str) -> bytes:
            found = self.client.get(key)
            check_size(path, found.meta["size"])
            return bytes(found.bytes())

        return self._asked("reading", path, content)

    def tail(self, path: str, most: int) -> tuple[pa.Buffer, int]:
        def content(key: str) -> tuple[pa.Buffer, int]:
            try:
                found = self.client.get(key, options={"range": {"suffix": most}})
            except GenericError:  # an empty file has no range
                if self.client.head(key)["size"]:
                    raise
                return pa.py_buffer(b""), 0
            return pa.py_buffer(found.bytes()), found.meta["size"]

        return self._asked("reading", path, content)

    def ranges(self, path: str, spans: Sequence[Span]) -> list[pa.Buffer]:
        starts, ends = [start for start, _ in spans], [stop for _, stop in spans]

        def content(key: str) -> list[pa.Buffer]:
            found = self.client.get_ranges(key, starts=starts, ends=ends)
            return [pa.py_buffer(each) for each in found]

        return self._asked("reading", path, content)

    def exists(self, path: str) -> bool:
        return self._head(path) is not None

    def is_folder(self, path: str) -> bool:
        return self._asked("listing", path, lambda key: any(True for _ in self._below(key)))

    def stamp(self, path: str) -> str:
        found = self._there(path)
        return f"{found['e_tag']}-{found['last_modified'].timestamp()}"

    def modified(self, path: str) -> int:
        """The time a file was written, in ns; raises FileNotFoundError if it is missing."""
        return _modified(self._there(path))

    def entries(self, path: str) -> list[Entry]:
        found = self._asked(
            "listing", path, lambda key: self.client.list_with_delimiter(f"{key}/" if key else None)
        )
        own = settings.key_of(path)
        files = [
            Entry(meta["path"].rsplit("/", 1)[-1], False, meta["size"], _modified(meta))
            for meta in found["objects"]
            if meta["path"].rstrip("/") != own
        ]
        names = (prefix.rstrip("/").rsplit("/", 1)[-1] for prefix in found["common_prefixes"])
        return files + [Entry(name, True, 0, 0) for name in names]

    @contextlib.contextmanager
    def held(self, path: str) -> Iterator[str]:
        yield path

    # ---- writing ----

    def create(self, path: str) -> pa.NativeFile:
        def begun(key: str) -> Any:
            return open_writer(self.client, key, buffer_size=_PART, max_concurrency=_PARTS)

        file = _Written(self, path, self._asked("writing", path, begun))
        return pa.BufferedOutputStream(pa.PythonFile(file, mode="w"), _BUFFER)

    def write(self, path: str, data: bytes) -> None:
        self._asked("writing", path, lambda key: self.client.put(key, data))

    def replace(self, path: str, data: bytes) -> None:
        self.write(path, data)

    def publish(self, path: str, data: bytes) -> int:
        """See `Files.publish`. Raises UnsettledError if the store gave no answer and the file is
        not there yet.
        """
        if not self.create_exclusively(path, data):
            return 0
        found = self._head(path)
        return time.time_ns() if found is None else _modified(found)

    def create_exclusively(self, path: str, data: bytes) -> bool:
        """Whether the file is there and ours. A put without an answer is sent again (by the client
        too), so the file it then finds may be its own. A put's id (`_MARK`) decides that: contents
        may be equal, as those of two schemas made in one millisecond are.
        """
        if not self.is_writable:
            raise self.refused(path)
        lost: BaseError | None = None
        mark = uuid.uuid4().hex
        ours: Any = {_MARK: mark}
        key = settings.key_of(path)
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(PAUSE * 2**attempt)
            try:
                self.client.put(key, data, attributes=ours, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return self._mark(path) == mark
            except FileNotFoundError:
                raise self._no_bucket() from None
            except BaseError as error:
                if lost is None and type(error).__name__ in _REFUSALS:
                    raise self.failed("publishing", path, error) from None
                lost = error
            else:
                return True
        assert lost is not None
        found = self.failed("publishing", path, lost)
        raise UnsettledError(f"{found}; it may still arrive") from None

    def _mark(self, path: str) -> str | None:
        with contextlib.suppress(FileNotFoundError):
            found: Any = self._asked("reading", path, lambda key: self.client.get(key).attributes)
            mark: str | None = found.get(_MARK)
            return mark
        return None

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._asked("removing", path, lambda key: self.client.delete(key))

    def make_folder(self, path: str) -> None:
        """Does nothing: a folder is there once something is in it."""

    def remove_folder(self, path: str) -> bool:
        return self.remove_below(path, lambda found, modified: True)

    def remove_below(self, path: str, chosen: Callable[[str, int], bool]) -> bool:
        """Remove all files below a folder that `chosen` picks by path and time of change."""
        bucket = f"{path.split('://', 1)[0]}://{settings.bucket_of(path)}"

        def gone(key: str) -> bool:
            metas = self._below(key)
            found = [m["path"] for m in metas if chosen(f"{bucket}/{m['path']}", _modified(m))]
            if found:
                self.client.delete(found)
            return bool(found)

        return self._asked("removing", path, gone)

    # ---- the client ----

    def _below(self, key: str) -> Iterator[Any]:
        """Descriptions of everything below a folder, and of the object that marks the folder."""
        for page in self.client.list(f"{key}/" if key else None):
            yield from page

    def _there(self, path: str) -> Any:
        return self._asked("looking for", path, lambda key: self.client.head(key))

    def _head(self, path: str) -> Any | None:
        with contextlib.suppress(FileNotFoundError):
            return self._there(path)
        return None

    def _asked(self, doing: str, path: str, ask: Callable[[str], Answer]) -> Answer:
        """The store's answer. Raises OSError, without any credential, if the request fails."""
        PROCESS.check(self.root)
        if doing in ("writing", "removing") and not self.is_writable:
            raise self.refused(path)
        try:
            return ask(settings.key_of(path))
        except FileNotFoundError:
            if doing in _OF_FILES:
                raise FileNotFoundError(path) from None
            raise self._no_bucket() from None
        except BaseError as error:
            raise self.failed(doing, path, error) from None

    def _no_bucket(self) -> TableError:
        where = self.options.get("endpoint", "AWS")
        return TableError(
            f"bucket {settings.bucket_of(self.root)} does not exist at {where}: make it, or name "
            "another warehouse or s3.endpoint"
        )

    def failed(self, doing: str, path: str, error: BaseError) -> OSError:
        """The error of the store's client as an OSError, without any credential."""
        found = settings.hidden(str(error).split("\n\nDebug source:")[0].strip(), self.options)
        return OSError(f"{doing} {path} failed: {found}; {self._kind.advice}")


class _Written(io.RawIOBase):
    """A file being written; it is there once it is closed."""

    def __init__(self, files: ObjectFiles, path: str, client: Any) -> None:
        super().__init__()
        self._files, self._path, self._client = files, path, client
        self._at = 0

    def write(self, data: Any) -> int:
        taken = memoryview(data).cast("B")
        self._try(lambda: self._client.write(taken))
        self._at += len(taken)
        return len(taken)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._try(self._client.close)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except BaseError as error:
            raise self._files.failed("writing", self._path, error) from None

    def tell(self) -> int:
        return self._at

    def writable(self) -> bool:
        return True


def _modified(meta: Any) -> int:
    """The time of change, in ns; most stores keep whole seconds."""
    return int(meta["last_modified"].timestamp() * 1e9)
