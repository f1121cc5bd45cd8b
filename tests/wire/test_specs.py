"""What travels comes back equal from JSON text."""

import json
from dataclasses import replace

import pyarrow as pa

from keyfold.types import paimon as paimon_types
from keyfold.types.literals import Constant
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.partitions import UNPARTITIONED, Partition
from keyfold.wire.predicates import Named, Predicate
from keyfold.wire.row_stats import RowStats
from keyfold.wire.specs import CommitMessage, DataFile, FileMeta, ScanSpec, Split, WriteSpec

LAYOUT = TableLayout(
    "db.t",
    "/t",
    3,
    (Column(0, "k", paimon_types.from_paimon("INT NOT NULL")),),
    ("k",),
    (),
    {"bucket": "2"},
)
KEYS = pa.record_batch({"k": pa.array([1, None], pa.int32())})
ONE = KEYS.slice(0, 1)
STATS = RowStats(b"\0\1", bytes(range(256)), (0, 3))
META = FileMeta("f", 1, 2, 0, 5, 6, 3, 0, 1700, (b"\xff", b""), STATS, STATS, ("k",))
OF_ALL = replace(META, delete_rows=None, value_stats_columns=None)
DAY = Partition((19724, None), "d=19724/p=__DEFAULT_PARTITION__", "d=2024-01-02/p=none")
FILE = DataFile("f", 1, 2, None, 5, 6, 3, 0)


def test_commit_message() -> None:
    for partition in (UNPARTITIONED, DAY):
        message = CommitMessage(partition, 1, 2, (META, OF_ALL))
        assert CommitMessage.from_json(json.loads(json.dumps(message.to_json()))) == message


def test_split() -> None:
    split = Split(DAY, 1, "/t/bucket-1", (((FILE,), (FILE, FILE)), ((FILE,),)), ONE, None)
    assert Split.from_json(json.loads(json.dumps(split.to_json()))) == split
    assert split.files == (FILE,) * 4


def test_scan() -> None:
    predicate = Predicate("=", (Named(("k",)), Constant(1, "integer")))
    scan = ScanSpec(LAYOUT, ("k",), {1: ((0, "k", "INT NOT NULL"),)}, 5, (predicate,))
    assert ScanSpec.from_json(json.loads(json.dumps(scan.to_json()))) == scan


def test_write() -> None:
    spec = WriteSpec(LAYOUT, ("k",), True, 9, "job", "overwrite", None, (Predicate("ALWAYS_TRUE"),))
    assert WriteSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_unknown_keys_are_passed_over() -> None:
    json_spec = WriteSpec(LAYOUT, ("k",), True, 9, "job").to_json() | {"handle": 1}
    assert WriteSpec.from_json(json_spec).sequence == 9
