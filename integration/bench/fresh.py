"""A fresh session that asks one question and prints when (monotonic seconds) it had the answer.

python -m integration.bench.fresh keyfold|plain FOLDER
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from integration import sessions

QUERY = "SELECT count(*), max(seq), max(d) FROM "


def main(kind: str, folder: Path) -> None:
    """Ask, print, leave."""
    if kind == "keyfold":
        spark = sessions.start(folder)
        source = "keyfold.bench.few"
    else:
        spark = sessions.builder(folder).getOrCreate()
        source = f"parquet.`{folder / 'plain' / 'few'}`"
    row = spark.sql(QUERY + source).first()
    assert row is not None
    assert row[0] > 0
    print(time.perf_counter(), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
