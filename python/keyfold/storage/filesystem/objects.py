"""Files of an S3 bucket: read, listed and published by conditional put (If-None-Match).

There are no folders, only keys with a common beginning, and nothing can be renamed. The client is
made when it is first asked, by the process that asks: never before a fork.
"""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from keyfold.errors import TableError
from keyfold.storage.filesystem.files import Entry, UnsettledError, check_size
from keyfold.stores import settings

_MARK = "keyfold-put"  # metadata of an object: which put made it
_ATTEMPTS = 4
_PAUSE = 0.2
_RETRIES: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_REFUSALS = ("PermissionDeniedError", "UnauthenticatedError", "NotSupportedError")
_OF_FILES = ("reading", "looking for")  # what is missing then is the file, else the bucket
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ObjectFiles:
    """The bucket of `root`; paths are S3 URIs of that bucket."""

    root: str
    store: Mapping[str, str] = field(repr=False)

    @property
    def is_local(self) -> bool:
        return False

    @property
    def is_writable(self) -> bool:
        return True

    @cached_property
    def _client(self) -> S3Store:
        given: dict[str, Any] = {
            "access_key_id": self.store.get(settings.ACCESS_KEY),
            "secret_access_key": self.store.get(settings.SECRET_KEY),
            "session_token": self.store.get(settings.TOKEN),
            "region": self.store.get(settings.REGION),
        }
        endpoint = self.store.get(settings.ENDPOINT)
        if endpoint:
            given["endpoint"] = settings.with_scheme(endpoint)
        plain: Any = {"allow_http": (given.get("endpoint") or "").startswith("http://")}
        config: Any = {name: value for name, value in given.items() if value}
        bucket = settings.bucket_of(self.root)
        return S3Store(bucket, config=config, client_options=plain, retry_config=_RETRIES)

    def within(self, folder: str) -> "ObjectFiles":
        return self

    def read(self, path: str) -> bytes:
        def content(key: str) -> bytes:
            found = self._client.get(key)
            check_size(path, found.meta["size"])
            return bytes(found.bytes())

        return self._asked("reading", path, content)

    def exists(self, path: str) -> bool:
        return self._head(path) is not None

    def is_folder(self, path: str) -> bool:
        return self._asked("listing", path, lambda key: any(True for _ in self._below(key)))

    def folders(self, path: str) -> list[str]:
        _, found = self._listed(path)
        return sorted(name for name in found if not name.startswith("."))

    def names(self, path: str) -> list[str]:
        files, found = self._listed(path)
        return [name for name, _ in files] + found

    def stamp(self, path: str) -> str:
        found = self._head(path)
        if found is None:
            raise FileNotFoundError(path)
        return f"{found['e_tag']}-{found['last_modified'].timestamp()}"

    def write(self, path: str, data: bytes) -> None:
        self._asked("writing", path, lambda key: self._client.put(key, data))

    def replace(self, path: str, data: bytes) -> None:
        self.write(path, data)

    def publish(self, path: str, data: bytes) -> int:
        """UnsettledError where the store did not answer and the file is not there, yet."""
        if not self._created(path, data):
            return 0
        found = self._head(path)
        return time.time_ns() if found is None else _modified(found)

    def _created(self, path: str, data: bytes) -> bool:
        """Whether the file is there and ours. A put that was not answered is sent again (by the
        client too), so what it then finds may be its own. A mark tells: contents may be equal, as
        those of two schemas made in one millisecond are.
        """
        lost: BaseError | None = None
        mark = uuid.uuid4().hex
        ours: Any = {_MARK: mark}
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE * 2**attempt)
            try:
                self._client.put(
                    settings.key_of(path), data, attributes=ours, mode="create", use_multipart=False
                )
            except AlreadyExistsError:
                return self._mark(path) == mark
            except FileNotFoundError:
                raise self._no_bucket() from None
            except BaseError as error:
                if lost is None and type(error).__name__ in _REFUSALS:
                    raise self._failed("publishing", path, error) from None
                lost = error
            else:
                return True
        assert lost is not None
        told = self._failed("publishing", path, lost)
        raise UnsettledError(f"{told}; it may still arrive") from None

    def _mark(self, path: str) -> str | None:
        with contextlib.suppress(FileNotFoundError):
            found: Any = self._asked("reading", path, lambda key: self._client.get(key).attributes)
            mark: str | None = found.get(_MARK)
            return mark
        return None

    def entries(self, path: str) -> list[Entry]:
        files, found = self._listed(path)
        listed = [Entry(name, False, meta["size"], _modified(meta)) for name, meta in files]
        return listed + [Entry(name, True, 0, 0) for name in found]

    @contextlib.contextmanager
    def held(self, path: str) -> Iterator[str]:
        yield path

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._asked("removing", path, self._client.delete)

    def make_folder(self, path: str) -> None:
        """Nothing: a folder is there once something is in it."""

    def remove_folder(self, path: str) -> bool:
        return self.remove_below(path, lambda found, modified: True)

    def remove_below(self, path: str, chosen: Callable[[str, int], bool]) -> bool:
        """Remove the files of a folder and all in it that are chosen by path and time of change."""
        bucket = f"{path.split('://', 1)[0]}://{settings.bucket_of(path)}"

        def gone(key: str) -> bool:
            metas = self._below(key)
            found = [m["path"] for m in metas if chosen(f"{bucket}/{m['path']}", _modified(m))]
            if found:
                self._client.delete(found)
            return bool(found)

        return self._asked("removing", path, gone)

    def modified(self, path: str) -> int:
        """When a file was written, in ns; FileNotFoundError if there is none."""
        found = self._head(path)
        if found is None:
            raise FileNotFoundError(path)
        return _modified(found)

    # ---- the client ----

    def _below(self, key: str) -> Iterator[Any]:
        """Descriptions of everything below a folder, its own mark too."""
        for page in self._client.list(f"{key}/" if key else None):
            yield from page

    def _listed(self, path: str) -> tuple[list[tuple[str, Any]], list[str]]:
        """Names and descriptions of the files in a folder, and names of the folders."""
        found = self._asked(
            "listing",
            path,
            lambda key: self._client.list_with_delimiter(f"{key}/" if key else None),
        )
        own = settings.key_of(path)
        files = [
            (meta["path"].rsplit("/", 1)[-1], meta)
            for meta in found["objects"]
            if meta["path"].rstrip("/") != own
        ]
        return files, [prefix.rstrip("/").rsplit("/", 1)[-1] for prefix in found["common_prefixes"]]

    def _in_folder(self, key: str) -> Any:
        return self._client.list_with_delimiter(f"{key}/" if key else None)

    def _head(self, path: str) -> Any | None:
        with contextlib.suppress(FileNotFoundError):
            return self._asked("looking for", path, self._client.head)
        return None

    def _asked(self, doing: str, path: str, ask: Callable[[str], Answer]) -> Answer:
        """The store's answer; OSError, in which no credential stands, where it has none."""
        try:
            return ask(settings.key_of(path))
        except FileNotFoundError:
            if doing in _OF_FILES:
                raise FileNotFoundError(path) from None
            raise self._no_bucket() from None
        except BaseError as error:
            raise self._failed(doing, path, error) from None

    def _no_bucket(self) -> TableError:
        where = self.store.get(settings.ENDPOINT, "AWS")
        return TableError(
            f"bucket {settings.bucket_of(self.root)} does not exist at {where}: make it, or name "
            "another warehouse or s3.endpoint"
        )

    def _failed(self, doing: str, path: str, error: BaseError) -> OSError:
        said = settings.hidden(str(error).split("\n\nDebug source:")[0].strip(), self.store)
        advice = (
            "; look at s3.endpoint, s3.region, s3.access-key and s3.secret-key of the catalog (or "
            "spark.hadoop.fs.s3a.*)"
        )
        return OSError(f"{doing} {path} failed: {said}{advice}")


def _modified(meta: Any) -> int:
    """In ns; most stores keep whole seconds."""
    return int(meta["last_modified"].timestamp() * 1e9)
