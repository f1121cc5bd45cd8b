"""What the processes of the long test do until they are killed, and what they note of it.

A note is a line appended by one system call: it is whole however the process ends.
"""

import os
import random
import time
from pathlib import Path

from keyfold.errors import ConflictError, SnapshotExpiredError
from tests.concurrency import jobs

COUNTER = -1


def note(folder: str, name: str, *words: object) -> None:
    """Append a line to the notes of a process."""
    line = " ".join(map(str, words)) + "\n"
    descriptor = os.open(f"{folder}/notes-{name}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def notes(folder: str, word: str) -> list[list[str]]:
    """The lines of all processes that begin with a word, without it."""
    lines = [t for path in Path(folder).glob("notes-*") for t in path.read_text().splitlines()]
    return [rest for first, *rest in map(str.split, lines) if first == word]


def writer(folder: str, name: str, life: int) -> None:
    """Commit after commit: a key nobody else writes, and one more in the counter of all."""
    number = 0
    while True:
        key = (int(name.removeprefix("writer-")) << 40) | (life << 20) | number
        number += 1
        try:
            jobs.written(folder, [{"k": key, "v": 1}, {"k": COUNTER, "v": 1}])
        except ConflictError:
            note(folder, name, "refused", key)
        else:
            note(folder, name, "acknowledged", key)


def compactor(folder: str, name: str, life: int) -> None:
    """Compaction after compaction, of all kinds."""
    draw = random.Random(life)
    while True:
        try:
            for outcome in jobs.compacted(folder, draw.choice(["auto", "minor", "full"])):
                note(folder, name, "compaction", outcome)
        except (ConflictError, SnapshotExpiredError) as error:
            note(folder, name, "compaction", type(error).__name__)
        time.sleep(0.05)


def expirer(folder: str, name: str, life: int) -> None:
    """Expiry after expiry, of all but the last few snapshots."""
    while True:
        count = jobs.expired(folder, 12, 6)
        note(folder, name, "expired", count)
        time.sleep(0.05)


def reader(folder: str, name: str, life: int) -> None:
    """Read after read: each sees as many keys as the counter says."""
    while True:
        table = jobs.table_of(folder)
        try:
            rows = jobs.rows_of(table)
        except SnapshotExpiredError:
            note(folder, name, "late", table.snapshot_id)
            continue
        counted = rows.pop(COUNTER, 0)
        word = "read" if counted == len(rows) and set(rows.values()) <= {1} else "misread"
        note(folder, name, word, table.snapshot_id, counted, len(rows))
