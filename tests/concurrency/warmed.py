"""Imported by the server that forks the processes: everything they use, kernels loaded."""

import gc

import pyarrow as pa

from keyfold.kernels import jit
from tests.concurrency import roles as roles

jit.warm()
pa.Table.from_pylist([{"k": 1}])  # pyarrow imports pandas now, where it is installed
gc.freeze()
