"""A name node in memory, with the client's calls that a store makes. Its times are Hadoop's: a
rename leaves the file's own and sets those of the two folders.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


@dataclass
class Writer:
    """A file being written, which is there once it is closed."""

    node: NameNode
    name: str
    data: bytes = b""

    def write(self, data: bytes) -> None:
        self.node.ask("write", self.name)
        self.data += bytes(data)

    def close(self) -> None:
        self.node.ask("close", self.name)
        self.node.files[self.name] = (self.data, self.node.now())


@dataclass
class NameNode:
    """The files, the folders' times of change, and what each request is preceded by."""

    ask: Callable[[str, str], object] = lambda *_: None
    is_deaf: bool = False  # the next rename takes place, and is sent again
    settings: dict[str, str] = field(default_factory=dict)
    login: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    clock: Iterator[int] = field(default_factory=lambda: itertools.count(int(time.time() * 1000)))

    # ---- the module ----

    def Client(self, _: str, settings: dict[str, str], **login: str) -> NameNode:
        self.settings, self.login = settings, login
        return self

    def WriteOptions(self, **how: Any) -> Any:
        self.sizes = {name: how[name] for name in ("replication", "block_size") if name in how}
        return how

    # ---- its client ----

    def create(self, name: str, _: object) -> Writer:
        self.ask("create", name)
        self._touch(name)
        return Writer(self, name)

    def rename(self, name: str, to: str, overwrite: bool = False) -> None:
        self.ask("rename", to)
        for _ in range(2 if self.is_deaf else 1):
            if name not in self.files:
                raise FileNotFoundError(name)
            if to in self.files and not overwrite:
                raise FileExistsError(to)
            self.files[to] = self.files.pop(name)
            self._touch(name, to)

    def delete(self, name: str, recursive: bool = False) -> bool:
        self.ask("delete", name)
        gone = [n for n in (*self.files, *self.folders) if n == name or n.startswith(f"{name}/")]
        assert recursive or len(gone) < 2
        for each in gone:
            self.files.pop(each, None)
            self.folders.pop(each, None)
        return bool(gone)

    def mkdirs(self, name: str, create_parent: bool) -> None:
        assert create_parent
        self._touch(f"{name}/")

    def get_file_info(self, name: str) -> Any:
        self.ask("get_file_info", name)
        if name in self.files:
            data, changed = self.files[name]
            return SimpleNamespace(
                path=name, isdir=False, length=len(data), modification_time=changed
            )
        if name in self.folders:
            changed = self.folders[name]
            return SimpleNamespace(path=name, isdir=True, length=0, modification_time=changed)
        raise FileNotFoundError(name)

    def list_status(self, name: str, recursive: bool = False) -> list[Any]:
        self.get_file_info(name)
        below = [n for n in (*self.files, *self.folders) if n.startswith(f"{name}/")]
        direct = [n for n in below if recursive or n.rpartition("/")[0] == name]
        return [self.get_file_info(each) for each in direct]

    @contextmanager
    def read(self, name: str) -> Iterator[Any]:
        self.get_file_info(name)
        data = self.files[name][0]
        yield SimpleNamespace(size=len(data), read_range=lambda at, size: data[at : at + size])

    def now(self) -> int:
        return next(self.clock)

    def _touch(self, *names: str) -> None:
        """Set the times of the files' folders, which are made with those they are in."""
        now = self.now()
        for name in names:
            self.folders[name.rpartition("/")[0]] = now
            parts = name.split("/")
            for end in range(2, len(parts) - 1):
                self.folders.setdefault("/".join(parts[:end]), now)
