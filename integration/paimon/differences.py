"""What Paimon's Java library reads from the tables that conformance cases leave behind, against
what keyfold reads: `python -m integration.paimon.differences FILE…`.

Every difference is printed with both sides; docs/interop.md has the reason for each kind of them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasketches import compact_theta_sketch, hll_sketch
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.conformance import files, pool, run, session, words
from integration.conformance.case import Case, Rows
from integration.paimon import library
from integration.paimon.library import Paimon, RefusedByPaimon

SAME, DIFFERENT, ONLY_JAVA, ONLY_OURS = "same", "different", "Java refuses", "keyfold refuses"
BOTH, NO_TABLE, EMPTY = "both refuse", "refused at CREATE", "nothing written"
EXPLAINED = (SAME, BOTH, NO_TABLE, EMPTY)
SHOWN = 600


@dataclass(frozen=True)
class Compared:
    """One case's table: the rows of both sides, or a side's refusal."""

    id: str
    end: str
    ours: str = ""
    theirs: str = ""


def main() -> None:
    """Run the cases, keep their tables, read each with Java."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="case files")
    parser.add_argument("--id", default="*", help="pattern of the ids to run")
    parser.add_argument("--warehouse", type=Path, help="a new folder that keeps the tables")
    parser.add_argument(
        "--scan-mode", default="none", help="`compact` lets Java see level 0 of first-row tables"
    )
    asked = parser.parse_args()
    lines = files.read(asked.files, asked.id, "write-only")
    cases = [line.case for line in lines if isinstance(line.case, Case) and not line.case.left_out]
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="keyfold-java-") as scratch:
        folder = asked.warehouse or Path(scratch)
        spark = session.start(folder)
        with library.start() as paimon:
            for found in compared(cases, spark, paimon, folder / "warehouse", asked.scan_mode):
                ends[found.end] += 1
                if found.end not in EXPLAINED:
                    print(f"{found.end}: {found.id}", flush=True)
                    print(f"  keyfold {found.ours[:SHOWN]}\n  Java    {found.theirs[:SHOWN]}")
        spark.stop()
    print(", ".join(f"{number} {end}" for end, number in sorted(ends.items())))


def compared(
    cases: Sequence[Case], spark: SparkSession, paimon: Paimon, warehouse: Path, scan_mode: str
) -> Iterator[Compared]:
    """Each case in its order: written by several threads, then read by Java."""

    def written(numbered: tuple[int, Case]) -> pa.Table | str:
        number, case = numbered
        own = spark.newSession()
        run.run(case, own, f"{session.CATALOG}.java_{number}")
        try:
            return own.sql("SELECT * FROM t").toArrow()
        except (PySparkException, Py4JJavaError) as error:
            return words.message(str(error))

    with ThreadPoolExecutor(pool.THREADS) as threads:
        tables = threads.map(written, enumerate(cases))
        for number, (case, ours) in enumerate(zip(cases, tables, strict=True)):
            yield one(case, ours, paimon, warehouse / f"java_{number}.db" / "t", scan_mode)


def one(case: Case, ours: pa.Table | str, paimon: Paimon, table: Path, scan_mode: str) -> Compared:
    """What came of one case; `ours` is what Spark read, or why it did not."""
    if not (table / "schema").exists():
        return Compared(case.id, NO_TABLE)
    if not (table / "snapshot").exists():
        return Compared(case.id, EMPTY)
    is_refused = isinstance(ours, str)
    left = str(ours if is_refused else settled(case, ours))
    try:
        answer = paimon.read(table, batch_scan_mode=scan_mode)
    except RefusedByPaimon as refused:
        return Compared(case.id, BOTH if is_refused else ONLY_JAVA, left, str(refused))
    if is_refused:
        return Compared(case.id, ONLY_OURS, left, str(answer.rows))
    right = str(settled(case, library.table(ours.schema, answer)))
    return Compared(case.id, SAME if left == right else DIFFERENT, left, right)


def settled(case: Case, table: pa.Table) -> list[str]:
    """The rows in one order; so are elements whose order a case leaves free, and sketches are what
    they estimate.
    """
    free = {n for e in case.accepted if isinstance(e, Rows) for n in e.unordered}
    columns = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        found = [row[0] for row in library.cells(pa.table({name: column}))]
        estimate = ESTIMATES.get(case.functions.get(name, ""))
        if estimate:
            found = [state and estimate(state) for state in column.to_pylist()]
        elif name in free:
            found = [cell and sorted(cell, key=repr) for cell in found]
        columns.append(found)
    return sorted(map(repr, zip(*columns, strict=True)))


ESTIMATES: dict[str, Callable[[bytes], Any]] = {
    "hll_sketch": lambda state: f"about {hll_sketch.deserialize(state).get_estimate():.3f}",
    "theta_sketch": lambda state: f"about {compact_theta_sketch.deserialize(state).get_estimate()}",
}


if __name__ == "__main__":
    main()
