"""The file system that a location names; a store that does not answer is not waited for."""

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from keyfold.errors import EnvironmentMismatchError, NotSupportedError, TableError
from keyfold.storage.filesystem.files import Files, LocalFiles, RemoteFiles, local_path
from keyfold.storage.filesystem.objects import ObjectFiles
from keyfold.stores import settings

READ_ONLY = {
    "gs": "is there a network, and does GOOGLE_APPLICATION_CREDENTIALS name a key that may read it",
    "hdfs": "are HADOOP_HOME and CLASSPATH set for the driver and the executors, and is the name "
    "node there",
}
ANSWER_SECONDS = 20.0  # Google's client tries for 15 minutes


def open_files(location: str, options: Mapping[str, str]) -> tuple[Files, str]:
    """The file system of a warehouse or table and its full path there; TableError if a file stands
    where its folder should be.
    """
    local = local_path(location)
    if local is not None:
        path = Path(local).expanduser().absolute()
        _check_folder(path)
        return LocalFiles(), str(path)
    root = location.rstrip("/")
    if settings.is_s3(location):
        return ObjectFiles(root, settings.store_options(location, options)), root
    return RemoteFiles(_reached(root), root), root


def _check_folder(path: Path) -> None:
    there = next(each for each in (path, *path.parents) if each.exists())
    if not there.is_dir():
        raise TableError(
            f"{path} can't be a folder of tables: {there} is a file; name another folder (the "
            "catalog's setting warehouse, or the path of the table)"
        )


@lru_cache(maxsize=16)
def _reached(root: str) -> pafs.FileSystem:
    """The file system of a store that has answered once."""
    scheme = urlsplit(root).scheme
    if scheme not in READ_ONLY:
        raise NotSupportedError(
            f"{root}: stores of {scheme}:// are not supported; expected a local or mounted folder, "
            f"s3:// or s3a://, and for reading {', '.join(f'{name}://' for name in READ_ONLY)}"
        )
    try:
        opened, path = pafs.FileSystem.from_uri(root)
        _answered(lambda: opened.get_file_info(path))
    except Exception as error:  # each client has errors of its own
        first = f"{error}".partition("\n")[0]  # then each place where a library was looked for
        raise EnvironmentMismatchError(
            f"{root} can't be reached ({type(error).__name__}: {first}): {READ_ONLY[scheme]}?"
        ) from error
    return opened


def _answered(ask: Callable[[], object]) -> None:
    """Ask; TimeoutError where no answer comes in time."""
    failures: list[Exception] = []

    def asking() -> None:
        try:
            ask()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=asking, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if thread.is_alive():
        raise TimeoutError(f"no answer in {ANSWER_SECONDS:.0f} s")
    if failures:
        raise failures[0]
