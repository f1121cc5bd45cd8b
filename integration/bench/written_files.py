"""What a commit takes for each file of its job: python -m integration.bench.written_files

The files come back from tasks as texts, as the JVM hands them over; none of them exists. Each size
is a process of its own. --files takes others than 10,000, 60,000 and 1,000,000.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from integration import TOP
from integration.bench import many_files
from integration.bench.cells import short, table
from keyfold.bridge.frames import MESSAGES
from keyfold.compact import jobs
from keyfold.questions.commit import commit_write, plan_write
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.table import Table, open_newest
from keyfold.wire.message_texts import texts_of
from keyfold.wire.partitions import Partition
from keyfold.wire.row_stats import RowStats
from keyfold.wire.specs import CommitMessage
from tests.storage import tables

SIZES = (10_000, 60_000, 1_000_000)
OPTIONS: dict[str, Any] = {"options": {}}


def messages(found: Table, files: int) -> Iterator[CommitMessage]:
    """Files whose keys and statistics are as different as those of real ones."""
    draw, kinds = random.Random(7), [column.type for column in found.layout.columns]
    keys, values = found.shapes.key, RowCodec.of(kinds)

    def stats(codec: RowCodec) -> RowStats:
        pairs = [sorted((draw.getrandbits(40), draw.getrandbits(40))) for _ in codec.types]
        sides = (codec.encode([pair[side] for pair in pairs]) for side in (0, 1))
        return RowStats(*sides, (0,) * len(pairs))

    one = tables.message(found, partition=(0,), total=many_files.BUCKETS)
    (file,) = one.files
    for number in range(files):
        partition, bucket = divmod(number, many_files.BUCKETS)
        if bucket == 0:
            one = replace(one, partition=Partition.of(found.layout, (partition,)))
        of_keys = stats(keys)
        name = f"data-{uuid.UUID(int=draw.getrandbits(128))}-0.parquet"
        described = replace(
            file,
            name=name,
            size=draw.randrange(1 << 26),
            keys=(of_keys.least, of_keys.greatest),
            key_stats=of_keys,
            value_stats=stats(values),
        )
        yield replace(one, bucket=bucket, files=(described,))


def measured(folder: Path, files: int) -> dict[str, Any]:
    """The seconds of processor and the MB of a job's commit, and of the plan of the compaction that
    follows it.
    """
    found = tables.table(folder, many_files.new_table())
    texts = list(texts_of(messages(found, files)))
    about = {"table": found.handle, "catalog": OPTIONS}
    columns = found.layout.arrow_schema.names
    planned = plan_write(
        {**about, "columns": columns, "filters": [], "ordinal": False, "mode": "append"}
    )
    before, began = _megabytes(), time.process_time()
    answer = commit_write({**about, **planned, MESSAGES: texts})
    took, after = time.process_time() - began, _megabytes()
    assert sum(len(buckets) for _, buckets in answer["touched"]) == files
    size, texts = sum(map(len, texts)), []
    began = time.process_time()
    places = ((Partition.from_json(one).values, some) for one, some in answer["touched"])
    touched = frozenset((values, bucket) for values, some in places for bucket in some)
    newest = open_newest(found.handle, OPTIONS["options"])
    assert jobs.plan_job(newest, "auto", touched=touched).steps == ()
    return {
        "files": files,
        "text": size / files,
        "seconds": took,
        "bytes": (after - before) * (1 << 20) / files,
        "most": after,
        "compaction": time.process_time() - began,
        "then": _megabytes(),
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def shown(results: Sequence[dict[str, Any]]) -> str:
    """The figures as a table."""
    heads = ["", *(f"{found['files']:,} files" for found in results)]
    rows = [
        ("text of a file, bytes", "text", "{:.0f}"),
        ("commit, seconds of processor", "seconds", ""),
        ("commit, bytes of memory a file", "bytes", "{:.0f}"),
        ("memory at its end, MB", "most", "{:.0f}"),
        ("plan of the compaction that follows, seconds", "compaction", ""),
        ("memory after that, MB", "then", "{:.0f}"),
    ]
    cells = [
        [what, *(form.format(f[name]) if form else short(f[name]) for f in results)]
        for what, name, form in rows
    ]
    return table(heads, cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=SIZES, help="sizes of jobs")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measured(Path(folder), asked.files[0])))
        return
    command = [sys.executable, "-m", "integration.bench.written_files", "--one", "--files"]
    results = [
        json.loads(subprocess.check_output([*command, str(files)], cwd=TOP))
        for files in asked.files
    ]
    print(shown(results))


if __name__ == "__main__":
    main()
