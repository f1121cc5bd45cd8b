"""Files of a warehouse: a local folder and a bucket of S3 (`objects`) for everything, any
other file system for reading only.

Publishing means creating a file with its content at once and exclusively: of several processes that
publish one name exactly one wins. A file system that can't do that is refused for writing.
"""

import contextlib
import io
import os
import re
import shutil
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol
from urllib.parse import unquote, urlparse

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from keyfold.errors import NotSupportedError
from keyfold.files import damage, full_disk, no_links


@dataclass(frozen=True)
class Entry:
    """A file or folder in a folder: `modified` in ns since the epoch, links not followed."""

    name: str
    is_folder: bool
    size: int
    modified: int


MOST_BYTES = 64 << 20  # of a file that is read as a whole: metadata
_MANY, _THREADS = 32, 4  # folders that are removed side by side, and by how many
_HELD = re.compile(r"/proc/self/fd/\d+")  # a table's folder by its descriptor (`Files.held`)


class UnsettledError(OSError):
    """A publish was not answered: it may have taken place, or take place later."""


class Files(Protocol):
    """What storage needs of a file system; paths are full paths without a trailing slash."""

    @property
    def is_local(self) -> bool:
        """Whether folders can be renamed."""

    @property
    def is_writable(self) -> bool:
        """Whether a file can be created exclusively."""

    @property
    def store(self) -> Mapping[str, str]:
        """What a client of the object store needs (`stores.settings`), empty for any other."""

    def within(self, folder: str) -> "Files":
        """The same for the files of the table in a folder: no link inside it is followed."""

    def read(self, path: str) -> bytes:
        """The content; FileNotFoundError if there is none."""

    def exists(self, path: str) -> bool:
        """Whether a file is there."""

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""

    def folders(self, path: str) -> list[str]:
        """Sorted names of the folders in a folder, hidden ones left out; empty if it is missing."""

    def names(self, path: str) -> list[str]:
        """Names of everything in a folder; empty if it is missing."""

    def stamp(self, path: str) -> str:
        """A word that changes when the file is replaced; FileNotFoundError if there is none."""

    def write(self, path: str, data: bytes) -> None:
        """Write a file whose name nobody else uses; FileNotFoundError if the folder that its own
        is in was removed."""

    def replace(self, path: str, data: bytes) -> None:
        """Write a file over whatever has that name, in one step."""

    def publish(self, path: str, data: bytes) -> int:
        """Create the file exclusively; when, in ns by the file system's clock, 0 if it exists.
        UnsettledError where that is not known.
        """

    def entries(self, path: str) -> list["Entry"]:
        """What is in a folder; empty if it is missing."""

    def held(self, path: str) -> AbstractContextManager[str]:
        """A path to a folder that stays valid while it is renamed; FileNotFoundError if missing."""

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""

    def make_folder(self, path: str) -> None:
        """Make a folder and those it is in."""

    def remove_folder(self, path: str) -> bool:
        """Remove a folder and what is in it; False if there was none. Nothing is seen of it half
        removed only where folders can be renamed (`folders`).
        """


@dataclass(frozen=True)
class LocalFiles:
    """A local (or mounted) file system, as of a `root` below which no link is followed."""

    root: str | None = None

    @property
    def is_local(self) -> bool:
        return True

    @property
    def is_writable(self) -> bool:
        return True

    @property
    def store(self) -> Mapping[str, str]:
        return {}

    def within(self, folder: str) -> "LocalFiles":
        return replace(self, root=folder)

    @contextlib.contextmanager
    def _at(self, path: str, *, make: bool = False) -> Iterator[str]:
        """The path to use in place of `path`."""
        held = _HELD.match(path)
        root = held[0] if held is not None else self.root
        if root is None:
            yield path
        else:
            with no_links.reached(root, path, make=make) as there:
                yield there

    def read(self, path: str) -> bytes:
        with self._at(path) as there, no_links.opened(there, path) as descriptor:
            return _read_all(path, descriptor)

    def exists(self, path: str) -> bool:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._at(path) as there:
            return os.path.lexists(there)
        return False

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def folders(self, path: str) -> list[str]:
        with self._scan(path) as entries:
            found = [e.name for e in entries if e.is_dir(follow_symlinks=self.root is None)]
        return sorted(name for name in found if not name.startswith("."))

    def names(self, path: str) -> list[str]:
        with self._scan(path) as entries:
            return [entry.name for entry in entries]

    def stamp(self, path: str) -> str:
        with self._at(path) as there:
            status = Path(there).lstat()
        return f"{status.st_ino}-{status.st_mtime_ns}"

    def write(self, path: str, data: bytes) -> None:
        with self._at(path, make=True) as there:
            Path(there).parent.mkdir(exist_ok=True)
            _write_synced(there, data)

    def replace(self, path: str, data: bytes) -> None:
        with self._at(path, make=True) as there, _temporary(there, data) as temporary:
            Path(temporary).replace(there)

    def publish(self, path: str, data: bytes) -> int:
        with self._at(path, make=True) as there, _temporary(there, data) as temporary:
            try:
                os.link(temporary, there)
            except OSError as error:
                # On a network mount the link may have been made although its answer got lost, or
                # was asked for twice, and the second time there it was.
                if Path(temporary).stat().st_nlink == 1:
                    if isinstance(error, FileExistsError):
                        return 0
                    raise
            linked = Path(temporary).stat().st_ctime_ns
            _sync_folder(there)
        return linked

    def entries(self, path: str) -> list[Entry]:
        with self._scan(path) as found:
            return [entry for each in found if (entry := _entry(each)) is not None]

    @contextlib.contextmanager
    def _scan(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        try:
            with self._at(f"{path}/.") as there, os.scandir(there) as entries:
                yield entries
        except FileNotFoundError:
            yield iter(())

    @contextlib.contextmanager
    def held(self, path: str) -> Iterator[str]:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        held = f"/proc/self/fd/{descriptor}"
        try:
            with full_disk.named(held, path):
                yield held
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError), self._at(path) as there:
            Path(there).unlink()

    def make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def remove_folder(self, path: str) -> bool:
        is_there = Path(path).is_dir()
        remove_tree(path)
        return is_there


def _entry(found: os.DirEntry[str]) -> Entry | None:
    """None where it was removed since it was listed."""
    try:
        status = found.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    is_folder = found.is_dir(follow_symlinks=False)
    return Entry(found.name, is_folder, status.st_size, status.st_mtime_ns)


def _read_all(path: str, descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    check_size(path, size)
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(size)


def check_size(path: str, size: int) -> None:
    """CorruptDataError for a file of metadata that is larger than any writer makes one."""
    if size > MOST_BYTES:
        raise damage.odd_place(path, f"it has {size} bytes; expected {MOST_BYTES} at most")


@contextlib.contextmanager
def _temporary(path: str, data: bytes) -> Iterator[str]:
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    temporary = str(folder / f".tmp-{uuid.uuid4()}")
    try:
        _write_synced(temporary, data)
        yield temporary
    finally:
        Path(temporary).unlink(missing_ok=True)


def _write_synced(path: str, data: bytes) -> None:
    with open(path, "xb", buffering=0) as file:  # noqa: PTH123 - "xb" refuses another's file
        try:
            with full_disk.writing(path):
                _write_all(file, data)
                os.fsync(file.fileno())
        except OSError:
            Path(path).unlink(missing_ok=True)
            raise


def _write_all(file: io.FileIO, data: bytes) -> None:
    """On a disk without room a system call takes a part, and the next one says why."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _sync_folder(path: str) -> None:
    descriptor = os.open(str(Path(path).parent), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class RemoteFiles:
    """Any file system of pyarrow, for reading: none of them creates a file exclusively."""

    io: FileSystem
    root: str

    @property
    def is_local(self) -> bool:
        return False

    @property
    def is_writable(self) -> bool:
        return False

    @property
    def store(self) -> Mapping[str, str]:
        return {}

    def within(self, folder: str) -> "RemoteFiles":
        return self

    def read(self, path: str) -> bytes:
        with self.io.open_input_stream(_key(path)) as stream:
            data: bytes = stream.read(MOST_BYTES + 1)
            check_size(path, len(data))
            return data

    def _status(self, path: str) -> FileInfo:
        return self.io.get_file_info(_key(path))

    def _listed(self, path: str) -> list[FileInfo]:
        found: list[FileInfo] = self.io.get_file_info(
            FileSelector(_key(path), allow_not_found=True)
        )
        return found

    def exists(self, path: str) -> bool:
        return bool(self._status(path).type != FileType.NotFound)

    def is_folder(self, path: str) -> bool:
        return self.exists(path)

    def folders(self, path: str) -> list[str]:
        names = [s.base_name for s in self._listed(path) if s.type == FileType.Directory]
        return sorted(name for name in names if not name.startswith("."))

    def names(self, path: str) -> list[str]:
        return [status.base_name for status in self._listed(path)]

    def stamp(self, path: str) -> str:
        status = self._status(path)
        if status.type == FileType.NotFound:
            raise FileNotFoundError(path)
        return f"{status.size}-{status.mtime}"

    def _refuse(self, path: str, data: bytes = b"") -> NoReturn:
        raise NotSupportedError(
            f"writing below {self.root} is not supported: its file system offers no exclusive "
            f"creation of {path.rsplit('/', 1)[-1]}, so two jobs could both commit; "
            "use a local or mounted warehouse, or one on S3"
        )

    write = replace = publish = entries = held = remove = make_folder = remove_folder = _refuse


def _key(location: str) -> str:
    """The path of a URI as its file system has it: with the bucket, without the name node."""
    parsed = urlparse(location)
    bucket = parsed.netloc.rpartition("@")[2] if parsed.scheme == "gs" else ""
    return bucket + parsed.path


def local_path(location: str) -> str | None:
    """The path of a location on the local file system, None for any other scheme."""
    parsed = urlparse(location)
    if parsed.scheme in ("", "file"):
        return unquote(parsed.path) if parsed.scheme else location
    return None


def remove_tree(path: str) -> None:
    """Remove a folder and what is in it, or a link alone; missing parts are passed over."""
    with contextlib.suppress(OSError):  # a folder is no file
        Path(path).unlink()
    folders: list[str] = []
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    if len(folders) >= _MANY:  # each removal waits for the file system's journal
        with ThreadPoolExecutor(_THREADS) as pool:
            deque(pool.map(partial(shutil.rmtree, ignore_errors=True), folders), maxlen=0)
    shutil.rmtree(path, ignore_errors=True)
