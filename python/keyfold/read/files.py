"""The one seam through which data files are opened, made and removed.

Local paths go straight to the operating system, and are not memory-mapped: reading is as fast, and
the pages of a large file don't pile up in a worker's memory. Every other scheme goes through the
file systems of pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from keyfold import damage, stores
from keyfold.errors import NotSupportedError, SnapshotExpiredError
from keyfold.layout import STAGING

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
_S3_OPTIONS = {
    stores.ENDPOINT: "endpoint_override",
    stores.ACCESS_KEY: "access_key",
    stores.SECRET_KEY: "secret_key",
    stores.TOKEN: "session_token",
    stores.REGION: "region",
}


@dataclass(frozen=True)
class Store:
    """Where the files of a table live; `filesystem` None is this machine's own."""

    filesystem: pafs.FileSystem | None = None

    @property
    def is_remote(self) -> bool:
        """Whether each request takes its time."""
        return self.filesystem is not None


def store_of(location: str, options: Mapping[str, str] | None = None) -> Store:
    """The store of a path or URI, with the `store` of its layout; NotSupportedError for a scheme
    pyarrow has no file system for.
    """
    scheme = _SCHEME.match(location)
    if scheme is None or scheme[1] == "file":
        return Store()
    if scheme[1] in stores.SCHEMES:
        return _bucket(frozenset((options or {}).items()))
    try:
        filesystem, _ = pafs.FileSystem.from_uri(location)
    except (ValueError, pa.ArrowException) as error:
        raise NotSupportedError(f"no file system opens {location}: {error}") from error
    return Store(filesystem)


@cache
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
            return _opened(local_path(path))
        return store.filesystem.open_input_file(_inside(path))
    except pa.ArrowInvalid as error:  # a name with a zero
        raise damage.entry(error) from error
    except FileNotFoundError as error:
        raise SnapshotExpiredError(
            f"data file {path} is gone: expected by the snapshot that is read, not found; the "
            "snapshot expired before it was read (or remove_orphan_files took the file): read the "
            "table again; for queries that take long, raise the table's snapshot.time-retained "
            "(1 h unless set) or snapshot.num-retained.min"
        ) from error


def _opened(path: Path) -> pa.NativeFile:
    try:
        return pa.OSFile(str(path))
    except FileNotFoundError:
        aside = _set_aside(path)
        if aside is None:
            raise
        return pa.OSFile(str(aside))


def _set_aside(path: Path) -> Path | None:
    """Where a file went when its table was replaced while a query read it."""
    for folder in path.parents:
        inside = path.relative_to(folder).parts[1:]
        for staged in folder.glob(f"{STAGING}*"):
            if staged.joinpath(*inside).exists():
                return staged.joinpath(*inside)
    return None


def is_there(store: Store, path: str) -> bool:
    """Whether there is a file."""
    if store.filesystem is None:
        return local_path(path).exists()
    return bool(store.filesystem.get_file_info(_inside(path)).type == pafs.FileType.File)


def create(store: Store, path: str) -> pa.NativeFile:
    """A new file for writing; its directories are made. What stood there is replaced."""
    if store.filesystem is None:
        local = local_path(path)
        local.parent.mkdir(parents=True, exist_ok=True)
        return pa.OSFile(str(local), "wb")
    return store.filesystem.open_output_stream(_inside(path))


def remove(store: Store, path: str) -> None:
    """Delete a file; nothing happens if there is none."""
    try:
        if store.filesystem is None:
            local_path(path).unlink(missing_ok=True)
        else:
            store.filesystem.delete_file(_inside(path))
    except FileNotFoundError:
        return
