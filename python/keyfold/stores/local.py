"""Files of a local (or mounted) file system.

Reads go straight to the operating system, without memory maps: they are as fast, and the pages of a
large file don't pile up in a worker's memory.
"""

import contextlib
import io
import os
import re
import shutil
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa

from keyfold.stores import no_links, refusals
from keyfold.stores.files import Entry, Files, check_size
from keyfold.wire.layout import STAGING

_BUFFER = 1 << 16  # bytes; gathers small parts of a data file, such as pages of a few rows
_MANY, _THREADS = 32, 4  # least folders to remove in parallel, and the number of threads
_HELD = re.compile(r"/proc/self/fd/\d+")  # a table's folder by its descriptor (`Files.held`)


@dataclass(frozen=True)
class LocalFiles(Files):
    """The files of this machine; below `root`, if it is given, no link is followed."""

    root: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        return True

    def within(self, folder: str) -> "LocalFiles":
        return replace(self, root=folder)

    @contextlib.contextmanager
    def _at(self, path: str, *, make: bool = False) -> Iterator[str]:
        """The path to use in place of `path`."""
        held = _HELD.match(path)
        root = held[0] if held is not None else self.root
        if not root:
            yield path
        else:
            with no_links.reached(root, path, make=make) as there:
                yield there

    def read(self, path: str) -> bytes:
        with self._at(path) as there, no_links.opened(there, path) as descriptor:
            return _read_all(path, descriptor)

    def open(self, path: str) -> pa.NativeFile:
        """A data file that is read at any place. If the table was replaced while a query reads it,
        it is the file in the folder that the table was moved to.
        """
        try:
            return self._opened(path)
        except FileNotFoundError:
            staged = Path(self.root).parent.glob(f"{STAGING}*") if self.root else ()
            for folder in staged:
                found = folder / Path(path).relative_to(self.root)
                if found.exists():
                    return self.within(str(folder))._opened(str(found))
            raise

    def _opened(self, path: str) -> pa.NativeFile:
        with self._at(path) as there, no_links.opened(there, path) as descriptor:
            return pa.OSFile(f"/proc/self/fd/{descriptor}")

    def create(self, path: str) -> pa.NativeFile:
        if self.root and not os.path.isdir(self.root):  # noqa: PTH112 - of each data file
            Path(self.root).mkdir(parents=True, exist_ok=True)
        with self._at(path, make=True) as there:
            os.close(os.open(there, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
            return pa.BufferedOutputStream(pa.OSFile(there, "wb"), _BUFFER)

    def exists(self, path: str) -> bool:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._at(path) as there:
            return os.path.lexists(there)
        return False

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def folders(self, path: str) -> list[str]:
        with self._scan(path) as entries:
            found = [e.name for e in entries if e.is_dir(follow_symlinks=not self.root)]
        return sorted(name for name in found if not name.startswith("."))

    def names(self, path: str) -> list[str]:
        with self._scan(path) as entries:
            return [entry.name for entry in entries]

    def stamp(self, path: str) -> str:
        with self._at(path) as there:
            return _stamp(os.lstat(there))

    def stamps(self, paths: Sequence[str]) -> list[str]:
        found = []
        for path in paths:  # nothing is read: a link on the way shows at most another stamp
            try:
                found.append(_stamp(os.lstat(path)))
            except (FileNotFoundError, NotADirectoryError):
                found.append("")
        return found

    def write(self, path: str, data: bytes) -> None:
        with self._at(path, make=True) as there:
            Path(there).parent.mkdir(exist_ok=True)
            _write_synced(there, data)

    def replace(self, path: str, data: bytes) -> None:
        with self._at(path, make=True) as there, _temporary(there, data) as temporary:
            Path(temporary).replace(there)

    def exchange(self, path: str, old: bytes, new: bytes) -> bool:
        with self._at(path, make=True) as there, _temporary(there, new) as temporary:
            with contextlib.suppress(FileNotFoundError):
                if self.read(path) == old:
                    Path(temporary).replace(there)
                    return True
            return False

    def publish(self, path: str, data: bytes) -> int:
        with self._at(path, make=True) as there, _temporary(there, data) as temporary:
            try:
                os.link(temporary, there)
            except OSError as error:
                # On a network mount the link may have been made although the answer got lost. Or
                # the request was sent twice, and the second one found the link.
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
            with refusals.named(held, path):
                yield held
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError), self._at(path) as there:
            Path(there).unlink()

    def make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def remove_folder(self, path: str) -> bool:
        with contextlib.suppress(FileNotFoundError), self._at(path) as there:
            is_there = Path(there).is_dir()
            remove_tree(there)
            return is_there
        return False

    def move_folder(self, path: str, to: str) -> bool:
        with self._at(path) as source, self._at(to) as target:
            if Path(target).exists():
                return False
            Path(source).rename(target)
            return True


def _entry(found: os.DirEntry[str]) -> Entry | None:
    """The entry; None if it was removed since it was listed."""
    try:
        status = found.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    is_folder = found.is_dir(follow_symlinks=False)
    return Entry(found.name, is_folder, status.st_size, status.st_mtime_ns)


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_ino}-{status.st_mtime_ns}"


def _read_all(path: str, descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    check_size(path, size)
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(size)


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
            with refusals.writing(path):
                _write_all(file, data)
                os.fsync(file.fileno())
        except OSError:
            Path(path).unlink(missing_ok=True)
            raise


def _write_all(file: io.FileIO, data: bytes) -> None:
    """Writes all data. A full disk takes a part in one system call and gives its reason in the
    next.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _sync_folder(path: str) -> None:
    descriptor = os.open(str(Path(path).parent), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def local_path(location: str) -> str | None:
    """The path of a location on the local file system; None if it has another scheme."""
    parsed = urlparse(location)
    if parsed.scheme in ("", "file"):
        return unquote(parsed.path) if parsed.scheme else location
    return None


def remove_tree(path: str) -> None:
    """Remove a folder and all its content, or a link alone; missing parts are passed over."""
    with contextlib.suppress(OSError):  # it is a folder
        Path(path).unlink()
    folders: list[str] = []
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    if len(folders) >= _MANY:  # each removal waits for the file system's journal
        with ThreadPoolExecutor(_THREADS) as pool:
            deque(pool.map(partial(shutil.rmtree, ignore_errors=True), folders), maxlen=0)
    shutil.rmtree(path, ignore_errors=True)
