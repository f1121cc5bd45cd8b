"""Files of HDFS, read by pyarrow's client, which needs Hadoop's own libraries and a JVM.

A keytab of the catalog's options logs in, in each process, into the ticket cache of the user.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from keyfold.stores.files import MOST_BYTES, Files, Span, check_size


@dataclass(frozen=True)
class HadoopFiles(Files):
    """The files of the name node that `root` names, for reading."""

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
        if place.port is None:  # a name service, which Hadoop's configuration names
            return pafs.HadoopFileSystem("default")
        return pafs.HadoopFileSystem(place.hostname, place.port)

    def read(self, path: str) -> bytes:
        with self.client.open_input_stream(_inside(path)) as stream:
            data: bytes = stream.read(MOST_BYTES + 1)
            check_size(path, len(data))
            return data

    def tail(self, path: str, most: int) -> tuple[pa.Buffer, int]:
        with self.client.open_input_file(_inside(path)) as file:
            size = file.size()
            return pa.py_buffer(file.read_at(min(most, size), max(size - most, 0))), size

    def ranges(self, path: str, spans: Sequence[Span]) -> list[pa.Buffer]:
        with self.client.open_input_file(_inside(path)) as file:
            return [pa.py_buffer(file.read_at(stop - start, start)) for start, stop in spans]

    def exists(self, path: str) -> bool:
        return bool(self._found(path).type == pafs.FileType.File)

    def is_folder(self, path: str) -> bool:
        return bool(self._found(path).type == pafs.FileType.Directory)

    def folders(self, path: str) -> list[str]:
        found = [each.base_name for each in self._listed(path) if not each.is_file]
        return sorted(name for name in found if not name.startswith("."))

    def names(self, path: str) -> list[str]:
        return [each.base_name for each in self._listed(path)]

    def stamp(self, path: str) -> str:
        found = self._found(path)
        if found.type == pafs.FileType.NotFound:
            raise FileNotFoundError(path)
        return f"{found.size}-{found.mtime_ns}"

    def _found(self, path: str) -> pafs.FileInfo:
        return self.client.get_file_info(_inside(path))

    def _listed(self, path: str) -> list[pafs.FileInfo]:
        return list(
            self.client.get_file_info(pafs.FileSelector(_inside(path), allow_not_found=True))
        )


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _inside(path: str) -> str:
    """The path of a URI on its name node."""
    return "/" + path.split("://", 1)[-1].partition("/")[2]
