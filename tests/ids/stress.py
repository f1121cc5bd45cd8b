"""Processes that ask one table for ids of the same keys, some of which are killed.

`python -m tests.ids.stress [KEYS] [PROCESSES]` prints how many keys per second got their id.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from multiprocessing.process import BaseProcess
from random import Random

import pyarrow as pa

import keyfold
from keyfold import Table

AT_ONCE = 25_000
KILLS = 4


def asked(table: Table, seed: int, keys: int) -> None:
    """Ask for all keys, in an order of its own; a key has one id in all answers."""
    names, random = list(range(keys)), Random(seed)
    parts = [names[at : at + AT_ONCE] for at in range(0, keys, AT_ONCE)]
    random.shuffle(parts)
    for part in parts:
        found = table.get_or_insert_many(pa.table({"k": [f"key {n}" for n in part]}), ["id"])
        assert found.column("id").null_count == 0


def run(keys: int, processes: int) -> None:
    """Let processes ask for keys of which half are there, and look at what is stored then."""
    with tempfile.TemporaryDirectory() as folder:
        catalog = keyfold.connect(folder, threads=1)
        options = {"auto-increment.fields": "id"}
        table = catalog.create_table("t", {"k": "STRING", "id": "BIGINT"}, ["k"], options=options)
        table.upsert(pa.table({"k": [f"key {n}" for n in range(0, keys, 2)]}))
        before = {row["k"]: row["id"] for row in table.scan().to_pylist()}
        context, started = multiprocessing.get_context("fork"), time.monotonic()

        def start(seed: int) -> BaseProcess:
            process = context.Process(target=asked, args=(table, seed, keys))
            process.start()
            return process

        running = [start(seed) for seed in range(processes)]
        for number in range(KILLS):
            time.sleep(2)
            running[number].kill()
            running.append(start(processes + number))
        for process in running:
            process.join()
        seconds = time.monotonic() - started
        failed = [p.exitcode for p in running[KILLS:] if p.exitcode != 0]
        stored = table.scan().to_pylist()
        ids = {row["k"]: row["id"] for row in stored}
        assert not failed, failed
        assert len(stored) == len(ids) == len(set(ids.values())) == keys
        assert before.items() <= ids.items()
        answers, new = processes * keys / seconds, keys / 2 / seconds
        print(f"{processes} processes, {keys} keys, half of them new, {KILLS} killed:")
        print(f"{seconds:.0f} s, {answers:,.0f} answers and {new:,.0f} new keys per second")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]] or [1_000_000, 16]
    run(*given)
