"""The files that one job writes: their names, and their removal if no commit takes them over."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager

from keyfold.files.hash_index import hash_path
from keyfold.files.indexes.file_indexes import name_and_bytes
from keyfold.stores.files import Files
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, FileMeta


class Job(AbstractContextManager["Job"]):
    """Files that were written and that no snapshot names yet. A block that ends with an error
    removes them.
    """

    def __init__(self, layout: TableLayout, messages: Iterable[CommitMessage] = ()) -> None:
        self.layout = layout
        self.messages = list(messages)

    def __exit__(self, kind: object, error: object, at: object) -> None:
        if error is not None:
            self.remove()

    def remove(self) -> None:
        """Delete the files, which will not be committed."""
        remove_files(self.layout, self.messages)


def remove_files(layout: TableLayout, messages: Iterable[CommitMessage]) -> None:
    """Remove all files of messages, which no snapshot names."""
    store = store_of(layout.location, layout.store)
    for message in messages:
        directory = message.partition.bucket_folder(layout, message.bucket)
        delete_files(store, directory, (*message.files, *message.changelog))
        if message.hashes is not None:
            store.remove(hash_path(layout, message.hashes.name))


def delete_files(store: Files, directory: str, files: Iterable[FileMeta]) -> None:
    """Remove data files that no snapshot names, and their indexes."""
    for file in files:
        store.remove(f"{directory}/{file.name}")
        index, _ = name_and_bytes(file.index)
        if index is not None:
            store.remove(f"{directory}/{index}")


def file_names(prefix: str = "data-") -> Iterator[str]:
    """Names `<prefix><uuid>-<n>`; each iterator has one uuid. Threads may share it."""
    return map(f"{prefix}{uuid.uuid4()}-{{}}".format, itertools.count())
