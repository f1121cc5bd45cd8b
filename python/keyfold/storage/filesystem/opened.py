"""The file system that a location names."""

from collections.abc import Mapping
from pathlib import Path

from keyfold import stores
from keyfold.storage.filesystem.files import Files, LocalFiles, RemoteFiles, local_path
from keyfold.storage.filesystem.objects import ObjectFiles
from keyfold.storage.paimon import FileIO, Options


def open_files(location: str, options: Mapping[str, str]) -> tuple[Files, str]:
    """The file system of a warehouse or table and its full path there."""
    local = local_path(location)
    if local is not None:
        return LocalFiles(), str(Path(local).expanduser().absolute())
    root = location.rstrip("/")
    if stores.is_s3(location):
        return ObjectFiles(root, stores.store_options(location, options)), root
    return RemoteFiles(FileIO.get(root, Options(dict(options))), root), root
