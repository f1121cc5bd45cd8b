"""Files of a bucket of an object store: read in ranges, listed, published by conditional put.

There are no folders, only keys with a common beginning, and nothing can be renamed. A process makes
the client when it first needs it, never before a fork.
"""

import contextlib
import io
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from obstore import open_writer
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError, PreconditionError

from keyfold.errors import TableError
from keyfold.lazy import cached_property
from keyfold.stores import settings
from keyfold.stores.client_use import PROCESS
from keyfold.stores.files import Entry, Files, Span, UnsettledError, check_size
from keyfold.stores.store_kinds import KINDS, PATIENT, QUICK, StoreKind

_MARK = "keyfoldput"  # metadata of an object: the put that made it; Azure takes no hyphen in it
_ATTEMPTS = 4
PAUSE = 0.2
_THROTTLED = re.compile(r"status code: (?:429|503) ")
_PATIENCE = 7  # waits of a throttled request: a minute, as each is twice the one before
_REFUSALS = ("PermissionDeniedError", "UnauthenticatedError", "NotSupportedError")
_OF_FILES = ("reading", "looking for", "removing", "exchanging")  # one is missing, not the bucket
_PAGE = 1000  # files that a store lists or removes at once
_PART, _PARTS = 8 << 20, 4  # bytes of a request that writes, and requests at once
_BUFFER = 1 << 20  # bytes for one call of the client, which costs as much as a page
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ObjectFiles(Files):
    """The bucket that `root` begins with; paths are URIs of that bucket."""

    root: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def keeps_folders(self) -> bool:
        return False

    @property
    def _kind(self) -> StoreKind:
        return KINDS[self.root.partition("://")[0]]

    @cached_property
    def client(self) -> Any:
        """obstore's client of the bucket."""
        return self._client(QUICK)

    @cached_property
    def _uploads(self) -> Any:
        return self._client(PATIENT)

    def _client(self, retries: Any) -> Any:
        PROCESS.has_clients = True
        return self._kind.client(settings.bucket_of(self.root), self.options, retries)

    # ---- reading ----

    def read(self, path: str) -> bytes:
        def content(key: str) -> bytes:
            found = self.client.get(key)
            check_size(path, found.meta["size"])
            return bytes(found.bytes())

        return self._asked("reading", path, content)

    def tail(self, path: str, most: int) -> tuple[pa.Buffer, int]:
        def content(key: str) -> tuple[pa.Buffer, int]:
            if not self._kind.knows_ends:
                size = self.client.head(key)["size"]
                start = max(size - most, 0)
                found = self.client.get_range(key, start=start, end=size) if size else b""
                return pa.py_buffer(found), size
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

    def reach(self, path: str) -> None:
        try:
            self._asked("listing", path, lambda key: any(True for _ in self._below(key)), 0)
        except OSError as error:  # a store that has too many requests is there
            if not _THROTTLED.search(str(error)):
                raise

    def stamp(self, path: str) -> str:
        found = self._there(path)
        return f"{found['e_tag']}-{found['last_modified'].timestamp()}"

    def modified(self, path: str) -> int:
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

    def all_below(self, path: str) -> Iterator[tuple[str, Entry]]:
        own, last, pages = settings.key_of(path), None, None

        def following(key: str) -> Any:
            nonlocal pages
            # an error ends a list: the next attempt begins behind what came
            if pages is None:
                pages = iter(self.client.list(f"{key}/", offset=last, chunk_size=_PAGE))
            current, pages = pages, None
            page = next(current, None)
            pages = current
            return page

        while page := self._asked("listing", path, following):
            for meta in page:
                folder, _, name = meta["path"][len(own) :].rpartition("/")
                yield path + folder, Entry(name, False, meta["size"], _modified(meta))
            last = page[-1]["path"]

    @contextlib.contextmanager
    def held(self, path: str) -> Iterator[str]:
        yield path

    # ---- writing ----

    def create(self, path: str) -> pa.NativeFile:
        def begun(key: str) -> Any:
            return open_writer(self._uploads, key, buffer_size=_PART, max_concurrency=_PARTS)

        file = _Written(self, path, self._asked("writing", path, begun))
        return pa.BufferedOutputStream(pa.PythonFile(file, mode="w"), _BUFFER)

    def write(self, path: str, data: bytes) -> None:
        self._asked("writing", path, lambda key: self.client.put(key, data))

    def replace(self, path: str, data: bytes) -> None:
        self.write(path, data)

    def exchange(self, path: str, old: bytes, new: bytes) -> bool:
        """See `Files.exchange`. A put without an answer is sent again, and finds its own file."""

        def put(key: str) -> bool:
            found = self.client.get(key)
            content, meta = bytes(found.bytes()), found.meta
            if content == old:
                mode: Any = {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}
                with contextlib.suppress(PreconditionError):
                    self.client.put(key, new, mode=mode, use_multipart=False)
                    return True
                content = bytes(self.client.get(key).bytes())
            return content == new

        for attempt in range(_ATTEMPTS):
            try:
                return self._asked("exchanging", path, put)
            except FileNotFoundError:
                return False
            except OSError:
                if attempt + 1 == _ATTEMPTS:
                    raise
            time.sleep(PAUSE * 2 ** (attempt + 1))
        raise AssertionError("attempts end by an error")

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
        PROCESS.check(self.root)
        lost: BaseError | None = None
        mark = uuid.uuid4().hex
        ours: Any = {_MARK: mark}
        key = settings.key_of(path)
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(PAUSE * 2**attempt)
            try:
                _patiently(
                    lambda: self.client.put(
                        key, data, attributes=ours, mode="create", use_multipart=False
                    )
                )
            except AlreadyExistsError:
                return self._mark(path) == mark
            except FileNotFoundError:
                raise self._no_bucket() from None
            except BaseError as error:
                if lost is None and type(error).__name__ in _REFUSALS:
                    raise self.failed("publishing", path, error) from None
                lost = error
                if _THROTTLED.search(str(error)):
                    break
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
        def gone(key: str) -> None:
            with contextlib.suppress(FileNotFoundError):  # what most stores say of a missing file
                self.client.delete(key)

        self._asked("removing", path, gone)

    def remove_all(self, paths: Sequence[str]) -> None:
        for first in range(0, len(paths), _PAGE):
            some = paths[first : first + _PAGE]
            try:
                self._asked("removing", some[0], partial(self._delete, some))
            except FileNotFoundError:  # of one of them, at which some stores stop
                super().remove_all(some)

    def _delete(self, paths: Sequence[str], _: str) -> None:
        self.client.delete(list(map(settings.key_of, paths)))

    def make_folder(self, path: str) -> None:
        """Does nothing: a folder is there once something is in it."""

    def remove_folder(self, path: str) -> bool:
        return self.remove_below(path, lambda found, modified: True)

    def remove_below(self, path: str, chosen: Callable[[str, int], bool]) -> bool:
        bucket = f"{path.split('://', 1)[0]}://{settings.bucket_of(path)}"

        def gone(key: str) -> bool:
            metas = self._below(key)
            found = [m["path"] for m in metas if chosen(f"{bucket}/{m['path']}", _modified(m))]
            if found:
                self.client.delete(found)
            return bool(found)

        for _ in range(_ATTEMPTS):
            try:
                return self._asked("removing", path, gone)
            except FileNotFoundError:  # another job removes them too, and stores stop at the first
                continue
        raise OSError(f"removing {path} failed: its files come and go; run it again")

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

    def _asked(
        self, doing: str, path: str, ask: Callable[[str], Answer], waits: int | None = None
    ) -> Answer:
        """The store's answer. Raises OSError, without any credential, if the request fails."""
        PROCESS.check(self.root)
        try:
            return _patiently(lambda: ask(settings.key_of(path)), waits)
        except FileNotFoundError:
            if doing in _OF_FILES:
                raise FileNotFoundError(path) from None
            raise self._no_bucket() from None
        except BaseError as error:
            if doing == "listing" and "status code: 404 " in str(error):
                raise self._no_bucket() from None
            raise self.failed(doing, path, error) from None

    def _no_bucket(self) -> TableError:
        where = self.options.get("endpoint", self._kind.place)
        return TableError(
            f"bucket {settings.bucket_of(self.root)} does not exist at {where}: make it, or name "
            f"another warehouse or {self._kind.endpoint}"
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


def _patiently(ask: Callable[[], Answer], waits: int | None = None) -> Answer:
    """The answer of a store. If it has too many requests, it is asked again, more and more seldom:
    the client gives up after two seconds, and its errors don't say how long the store asks for.
    """
    for wait in range(_PATIENCE if waits is None else waits):
        try:
            return ask()
        except BaseError as error:
            if not _THROTTLED.search(str(error)):
                raise
        time.sleep(PAUSE * 2 ** (wait + 1))
    return ask()


def _modified(meta: Any) -> int:
    """The time of change, in ns; most stores keep whole seconds."""
    return int(meta["last_modified"].timestamp() * 1e9)
