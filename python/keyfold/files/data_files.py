"""The one seam through which data files are opened, made and removed.

Local paths go straight to the operating system, and are not memory-mapped: reading is as fast, and
the pages of a large file don't pile up in a worker's memory. Every other scheme goes through the
file systems of pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from keyfold.errors import NotSupportedError, SnapshotExpiredError
from keyfold.files import no_links
from keyfold.stores import settings
from keyfold.wire.layout import STAGING

_BUFFER = 1 << 16  # of small pieces, such as pages of a few rows
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
_S3_OPTIONS = {
    settings.ENDPOINT: "endpoint_override",
    settings.ACCESS_KEY: "access_key",
    settings.SECRET_KEY: "secret_key",
    settings.TOKEN: "session_token",
    settings.REGION: "region",
}


@dataclass(frozen=True)
class Store:
    """Where the files of a table live; `filesystem` None is this machine's own, where no link below
    the folder `root` is followed.
    """

    filesystem: pafs.FileSystem | None = None
    root: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether each request takes its time."""
        return self.filesystem is not None


def store_of(location: str, options: Mapping[str, str] | None = None) -> Store:
    """The store of a table at a path or URI, with the `store` of its layout; NotSupportedError for
    a scheme pyarrow has no file system for.
    """
    scheme = _SCHEME.match(location)
    if scheme is None or scheme[1] == "file":
        return Store(root=str(local_path(location)))
    if scheme[1] in settings.SCHEMES:
        return _bucket(frozenset((options or {}).items()))
    try:
        filesystem, _ = pafs.FileSystem.from_uri(location)
    except (ValueError, pa.ArrowException) as error:
        raise NotSupportedError(f"no file system opens {location}: {error}") from error
    return Store(filesystem)


@lru_cache(maxsize=16)  # secrets that are renewed make clients that nobody asks for again
def _bucket(options: frozenset[tuple[str, str]]) -> Store:
    """A client takes 20 ms to make; it is made by the process that uses it, never before a fork."""
    given = {_S3_OPTIONS[name]: value for name, value in options}
    return Store(pafs.S3FileSystem(**given))


def local_path(location: str) -> Path:
    """A path, or a `file:` URI taken literally (no percent decoding, as Paimon does)."""
    if location.startswith("file:"):
        rest = location[len("file:") :]
        return Path("/" + rest.lstrip("/"))
    return Path(location)


def _inside(path: str) -> str:
    parts = urlsplit(path, allow_fragments=False)
    return parts.netloc + path.split(parts.netloc, 1)[1] if parts.netloc else parts.path


def open_input(store: Store, path: str) -> pa.NativeFile:
    """A random-access file; SnapshotExpiredError if there is none."""
    try:
        if store.filesystem is None:
            return _opened(store.root, str(local_path(path)))
        return store.filesystem.open_input_file(_inside(path))
    except FileNotFoundError as error:
        raise SnapshotExpiredError(
            f"data file {path} is gone: expected by the snapshot that is read, not found; the "
            "snapshot expired before it was read (or remove_orphan_files took the file): read the "
            "table again; for queries that take long, raise the table's snapshot.time-retained "
            "(1 h unless set) or snapshot.num-retained.min"
        ) from error


def _opened(root: str, path: str) -> pa.NativeFile:
    try:
        return _plain(root, path)
    except FileNotFoundError:
        aside = _set_aside(root, path)
        if aside is None:
            raise
        return _plain(*aside)


def _plain(root: str, path: str) -> pa.NativeFile:
    with no_links.reached(root, path) as there, no_links.opened(there, path) as descriptor:
        return pa.OSFile(f"/proc/self/fd/{descriptor}")


def _set_aside(root: str, path: str) -> tuple[str, str] | None:
    """Where a table and its file went when the table was replaced while a query read it."""
    for staged in Path(root).parent.glob(f"{STAGING}*"):
        found = staged / Path(path).relative_to(root)
        if found.exists():
            return str(staged), str(found)
    return None


def is_there(store: Store, path: str) -> bool:
    """Whether there is a file."""
    if store.filesystem is None:
        try:
            with no_links.reached(store.root, str(local_path(path))) as there:
                return Path(there).exists()
        except FileNotFoundError:
            return False
    return bool(store.filesystem.get_file_info(_inside(path)).type == pafs.FileType.File)


def create(store: Store, path: str) -> pa.NativeFile:
    """A new file for writing; its directories are made. What stood there is replaced."""
    if store.filesystem is None:
        Path(store.root).mkdir(parents=True, exist_ok=True)
        with no_links.reached(store.root, str(local_path(path)), make=True) as there:
            Path(there).touch()
            return pa.BufferedOutputStream(pa.OSFile(there, "wb"), _BUFFER)
    return store.filesystem.open_output_stream(_inside(path))


def remove(store: Store, path: str) -> None:
    """Delete a file; nothing happens if there is none."""
    try:
        if store.filesystem is None:
            with no_links.reached(store.root, str(local_path(path))) as there:
                Path(there).unlink()
        else:
            store.filesystem.delete_file(_inside(path))
    except FileNotFoundError:
        return
