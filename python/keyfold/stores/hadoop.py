"""Files of HDFS, read by pyarrow's client, which needs Hadoop's own libraries and a JVM.

Each process logs in with the keytab of the catalog's options, into the ticket cache of the user.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from keyfold.lazy import cached_property
from keyfold.stores.files import MOST_BYTES, Entry, Files, check_size


@dataclass(frozen=True)
class HadoopFiles(Files):
    """The files of the name node in `root`, for reading."""

    root: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def client(self) -> pafs.FileSystem:
        """pyarrow's client, logged in."""
        if home := os.environ.get("HADOOP_HOME"):
            os.environ["CLASSPATH"] = _said(f"{home}/bin/hadoop", "classpath", "--glob")
        if "keytab" in self.options:
            _said("kinit", "-kt", self.options["keytab"], self.options["principal"])
        place = urlsplit(self.root)
        if place.port is None:  # a name service, which Hadoop's configuration has
            return pafs.HadoopFileSystem("default")
        return pafs.HadoopFileSystem(place.hostname, place.port)

    def read(self, path: str) -> bytes:
        with self.client.open_input_stream(_inside(path)) as stream:
            data: bytes = stream.read(MOST_BYTES + 1)
            check_size(path, len(data))
            return data

    def open(self, path: str) -> pa.NativeFile:
        return self.client.open_input_file(_inside(path))

    def exists(self, path: str) -> bool:
        return bool(self._found(path).type == pafs.FileType.File)

    def is_folder(self, path: str) -> bool:
        return bool(self._found(path).type == pafs.FileType.Directory)

    def entries(self, path: str) -> list[Entry]:
        listed = self.client.get_file_info(pafs.FileSelector(_inside(path), allow_not_found=True))
        return [
            Entry(each.base_name, not each.is_file, each.size or 0, each.mtime_ns or 0)
            for each in listed
        ]

    def stamp(self, path: str) -> str:
        found = self._found(path)
        if found.type == pafs.FileType.NotFound:
            raise FileNotFoundError(path)
        return f"{found.size}-{found.mtime_ns}"

    def _found(self, path: str) -> pafs.FileInfo:
        return self.client.get_file_info(_inside(path))


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _inside(path: str) -> str:
    """The path of a URI on its name node."""
    return "/" + path.split("://", 1)[-1].partition("/")[2]
