"""Files of HDFS: published by a rename that fails where a file is.

The client is hdfs-native, which needs neither a JVM nor Hadoop's libraries. It reads the settings
of Hadoop in `HADOOP_CONF_DIR`, as those of name nodes that fail over. A process makes the client
when it first needs it, never before a fork.
"""

import contextlib
import io
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from keyfold.errors import EnvironmentMismatchError, TableError
from keyfold.lazy import cached_property
from keyfold.stores.client_use import PROCESS
from keyfold.stores.files import Entry, Files, Span, UnsettledError, check_size

ADVICE = (
    "is the name node there, does HADOOP_CONF_DIR of the driver and the executors name the folder "
    "of its hdfs-site.xml, and has the catalog a login (security.kerberos.login.principal and "
    "….keytab) if it wants Kerberos?"
)
_LOGIN = {"principal": "kerberos_principal", "keytab": "kerberos_keytab"}
_KERBEROS = {"hadoop.security.authentication": "kerberos"}  # else the client uses no login
# The client's own 15 attempts at a name node that is down take three minutes, these half a minute.
_SETTINGS = {"dfs.client.failover.max.attempts": "5"}
# The options of new files: the client's name, the units, the bits of a value, and an example.
_SIZES = {
    "dfs.replication": ("replication", "", 15, "3"),
    "dfs.blocksize": ("block_size", "kmgtpe", 63, "134217728 or 128m"),
}
_REASONS = {  # of the name node, by the name of its error
    "SafeModeException": "the name node is in safe mode: wait until it has left it "
    "(hdfs dfsadmin -safemode get), and run it again",
    "QuotaExceededException": "a quota of the folder is reached: nothing has changed; raise it "
    "(hdfs dfsadmin -setSpaceQuota, -setQuota) or make room",
    "AccessControlException": "give the user the right to write there (hdfs dfs -ls, -chown)",
    "StandbyException": "the name node is on standby: name the name service, not the node, in the "
    "warehouse, and the folder of hdfs-site.xml in HADOOP_CONF_DIR",
}
_ATTEMPTS = 4
PAUSE = 0.5
PATIENCE = 10.0  # s; a rename that took longer is not sent again: the client has done so
_BUFFER = 1 << 20
_KEPT = 8 << 20  # bytes of a file that can be written anew
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class HadoopFiles(Files):
    """The files of the name node, or name service, in `root`; paths are its URIs."""

    root: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _sizes(self.root, self.options)

    @cached_property
    def client(self) -> Any:
        """hdfs-native's client, logged in."""
        PROCESS.check(self.root)
        login = {_LOGIN[name]: value for name, value in self.options.items() if name in _LOGIN}
        given = {name: value for name, value in self.options.items() if name not in _LOGIN}
        settings = _SETTINGS | (_KERBEROS if login else {}) | given
        PROCESS.has_clients = True
        return _library().Client(_node_of(self.root), settings, **login)

    # ---- reading ----

    def read(self, path: str) -> bytes:
        def content(name: str) -> bytes:
            with self.client.read(name) as file:
                check_size(path, file.size)
                return bytes(file.read_range(0, file.size))

        return self._asked("reading", path, content)

    def tail(self, path: str, most: int) -> tuple[pa.Buffer, int]:
        def content(name: str) -> tuple[pa.Buffer, int]:
            with self.client.read(name) as file:
                start = max(file.size - most, 0)
                return pa.py_buffer(file.read_range(start, file.size - start)), file.size

        return self._asked("reading", path, content)

    def ranges(self, path: str, spans: Sequence[Span]) -> list[pa.Buffer]:
        def content(name: str) -> list[pa.Buffer]:
            with self.client.read(name) as file:
                # The client does not survive a request for bytes after the end.
                ends = [(start, min(stop, file.size)) for start, stop in spans]
                return [
                    pa.py_buffer(file.read_range(start, stop - start) if start < stop else b"")
                    for start, stop in ends
                ]

        return self._asked("reading", path, content)

    def exists(self, path: str) -> bool:
        found = self._found(path)
        return found is not None and not found.isdir

    def is_folder(self, path: str) -> bool:
        found = self._found(path)
        return found is not None and bool(found.isdir)

    def entries(self, path: str) -> list[Entry]:
        with contextlib.suppress(FileNotFoundError):
            listed = self._asked("listing", path, lambda name: list(self.client.list_status(name)))
            return [
                Entry(each.path.rsplit("/", 1)[-1], each.isdir, each.length, _modified(each))
                for each in listed
            ]
        return []

    def stamp(self, path: str) -> str:
        found = self._there(path)
        return f"{found.length}-{found.modification_time}"

    def modified(self, path: str) -> int:
        return _modified(self._there(path))

    @contextlib.contextmanager
    def held(self, path: str) -> Iterator[str]:
        yield path

    # ---- writing ----

    def create(self, path: str) -> pa.NativeFile:
        PROCESS.check(self.root)
        return pa.BufferedOutputStream(pa.PythonFile(_Written(self, path), mode="w"), _BUFFER)

    def write(self, path: str, data: bytes) -> None:
        with self.create(path) as file:
            file.write(data)

    def replace(self, path: str, data: bytes) -> None:
        with self._temporary(path, data) as made:
            self._rename(made, path, overwrite=True)

    def publish(self, path: str, data: bytes) -> int:
        """See `Files.publish`. The file gets its name by a rename."""
        lost: OSError | None = None
        since = time.monotonic()
        with self._temporary(path, data) as made:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._rename(made, path, overwrite=False)
                except FileExistsError:
                    return 0
                except FileNotFoundError:
                    raise
                except OSError as error:
                    if lost is None and is_refusal(error):
                        raise
                    lost = error
                if time.monotonic() > since + PATIENCE:
                    break
                time.sleep(PAUSE * 2 ** (attempt + 1))
        raise UnsettledError(f"{lost}; it may still arrive") from None

    @contextlib.contextmanager
    def _temporary(self, path: str, data: bytes) -> Iterator[str]:
        """A file that is renamed to a path, alone in a folder beside it, which is removed."""
        parent, _, name = path.rpartition("/")
        folder = f"{parent}/.tmp-{uuid.uuid4()}"
        try:
            self.write(f"{folder}/{name}", data)
            yield f"{folder}/{name}"
        finally:
            with contextlib.suppress(OSError):
                self.remove_folder(folder)

    def _rename(self, made: str, path: str, *, overwrite: bool) -> int:
        """Rename a temporary file; returns when that took place. The file keeps the time at which
        it was written, but the folder that it leaves, where nothing else happens, shows it.

        The client sends a request again whose answer is lost, so a name that is taken, or a file
        that is gone, may be our own doing: it is if the folder is left without the file. Raises
        FileNotFoundError if the folder is gone too, as with a table that is dropped.
        """
        folder = made.rpartition("/")[0]
        try:
            self._asked(
                "writing",
                path,
                lambda name: self.client.rename(_inside(made), name, overwrite=overwrite),
            )
        except (FileExistsError, FileNotFoundError):
            if self.exists(made):
                raise
        return self.modified(folder)

    def remove(self, path: str) -> None:
        self._asked("removing", path, lambda name: self.client.delete(name))

    def make_folder(self, path: str) -> None:
        self._asked("making", path, lambda name: self.client.mkdirs(name, create_parent=True))

    def remove_folder(self, path: str) -> bool:
        return bool(
            self._asked("removing", path, lambda name: self.client.delete(name, recursive=True))
        )

    def remove_below(self, path: str, chosen: Callable[[str, int], bool]) -> bool:
        place = _node_of(self.root)

        def below(name: str) -> list[Any]:
            return list(self.client.list_status(name, recursive=True))

        found = []
        with contextlib.suppress(FileNotFoundError):
            found = [
                f"{place}{each.path}"
                for each in self._asked("listing", path, below)
                if not each.isdir and chosen(f"{place}{each.path}", _modified(each))
            ]
        for each in found:
            self.remove(each)
        return bool(found)

    def move_folder(self, path: str, to: str) -> bool:
        try:
            self._asked("renaming", path, lambda name: self.client.rename(name, _inside(to)))
        except FileExistsError:
            return False
        return True

    # ---- the client ----

    def _there(self, path: str) -> Any:
        return self._asked("looking for", path, lambda name: self.client.get_file_info(name))

    def _found(self, path: str) -> Any | None:
        with contextlib.suppress(FileNotFoundError):
            return self._there(path)
        return None

    def _asked(self, doing: str, path: str, ask: Callable[[str], Answer]) -> Answer:
        """The name node's answer. Raises OSError if the request fails."""
        PROCESS.check(self.root)
        try:
            return ask(_inside(path))
        except FileNotFoundError:
            raise FileNotFoundError(path) from None
        except FileExistsError:
            raise FileExistsError(path) from None
        except (OSError, RuntimeError) as error:
            raise failed(doing, path, error) from None


class _Written(io.RawIOBase):
    """A file being written; others see it whole once it is closed.

    The client does not look for another data node if one that it is told of is down. So a file is
    begun anew, with other nodes, as long as it is so small that what was written is still known.
    """

    def __init__(self, files: HadoopFiles, path: str) -> None:
        super().__init__()
        self._files, self._path = files, path
        self._kept: list[bytes] | None = []
        self._at = 0
        self._writer: Any = None
        self._failure: OSError | None = None
        self._try(lambda: None)

    def write(self, data: Any) -> int:
        taken = bytes(data)
        self._try(lambda: self._writer.write(taken))
        self._at += len(taken)
        if self._kept is not None:
            self._kept.append(taken)
        if self._at > _KEPT:
            self._kept = None
        return len(taken)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._try(lambda: self._writer.close())

    def _try(self, act: Callable[[], object]) -> None:
        # What has failed stays so: closing it, which its end does too, would make a shorter file.
        if self._failure is not None:
            raise self._failure
        for attempt in range(_ATTEMPTS):
            try:
                if attempt or self._writer is None:
                    self._begin()
                act()
            except (OSError, RuntimeError) as error:
                found = failed("writing", self._path, error)
                is_over = attempt + 1 == _ATTEMPTS or is_refusal(found)
                if is_over or self._kept is None or self._writer is None:
                    self._failure = found
                    raise found from None
                time.sleep(PAUSE * 2 ** (attempt + 1))
            else:
                return

    def _begin(self) -> None:
        sizes = _sizes(self._files.root, self._files.options)
        how = _library().WriteOptions(overwrite=True, create_parent=True, **sizes)
        self._writer = None  # without one, it is the name node that fails, which the client retries
        self._writer = self._files.client.create(_inside(self._path), how)
        for each in self._kept or ():
            self._writer.write(each)

    def tell(self) -> int:
        return self._at

    def writable(self) -> bool:
        return True


def is_refusal(error: OSError) -> bool:
    """Whether the name node has refused, so that asking again is of no use."""
    return ADVICE not in str(error)


def failed(doing: str, path: str, error: Exception) -> OSError:
    """The error of the client, whose first line is not Java's, as an OSError with advice."""
    text = str(error)
    advice = next((told for name, told in _REASONS.items() if name in text), ADVICE)
    said = text.split("\\n")[0].split("\n")[0]
    return OSError(f"{doing} {path} failed: {said}; {advice}")


def _library() -> Any:
    """The module of the client, which most users don't need. Raises EnvironmentMismatchError if it
    is not installed.
    """
    try:
        return import_module("hdfs_native")
    except ImportError as error:
        raise EnvironmentMismatchError(
            f"HDFS needs the package hdfs-native ({error}): pip install 'keyfold[hdfs]', for the "
            "driver and the executors"
        ) from error


def _sizes(root: str, options: Mapping[str, str]) -> dict[str, int]:
    """The options of new files, for the client. Raises TableError if Hadoop would refuse one."""
    sizes = {}
    for name in _SIZES.keys() & options.keys():
        theirs, units, bits, example = _SIZES[name]
        text = options[name].strip().lower()
        unit = text[-1:] if text[-1:] in units else ""
        number = text.removesuffix(unit)
        size = int(number) if number.isascii() and number.isdecimal() else 0
        sizes[theirs] = size << 10 * (units.index(unit) + 1 if unit else 0)
        if not 0 < sizes[theirs] < 1 << bits:
            raise TableError(
                f"{root}: the catalog's setting {name} is {options[name]!r}; expected a number "
                f"such as {example}"
            )
    return sizes


def _modified(found: Any) -> int:
    """The time of change, in ns; HDFS keeps milliseconds."""
    return int(found.modification_time) * 1_000_000


def _node_of(root: str) -> str:
    """The URI of the name node, or the name service, without a path."""
    return f"hdfs://{urlsplit(root).netloc}"


def _inside(path: str) -> str:
    """The path of a URI on its name node."""
    return "/" + path.split("://", 1)[-1].partition("/")[2]
