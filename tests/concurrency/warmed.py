"""Imported by the server that forks the processes: everything they use, and the kernels that jobs
call, loaded.
"""

import gc
import json
import os
import tempfile

import pyarrow as pa

from keyfold.kernels import jit
from tests.concurrency import jobs
from tests.concurrency import roles as roles


def called() -> list[str]:
    """The kernels that jobs call. They do so in a process of their own, where threads may start:
    none may here.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            rehearse()
        finally:
            names = [str(kernel) for kernel, _ in jit.DECLARED if kernel.overloads]
            os.write(writing, json.dumps(names).encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        found: list[str] = json.load(file)
    os.waitpid(child, 0)
    return found


def rehearse() -> None:
    """What most jobs do to a table."""
    with tempfile.TemporaryDirectory() as folder:
        jobs.made(folder, merge_engine="aggregation", fields__v__aggregate_function="sum")
        for value in range(2):
            jobs.written(folder, [{"k": key, "v": value} for key in range(3)])
        jobs.updated(folder, 1, 7)
        jobs.deleted(folder, 2)
        jobs.rows_of(jobs.table_of(folder))
        jobs.compacted(folder)


jit.load_sources()
names = set(called())
for kernel, signatures in jit.DECLARED:
    if str(kernel) in names:
        jit._load_declared(kernel, signatures)
pa.Table.from_pylist([{"k": 1}])  # pyarrow imports pandas now, where it is installed
gc.freeze()
