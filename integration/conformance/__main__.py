"""`python -m integration.conformance FILE…`: exit code 1 where a case fails."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from integration.conformance import documents, files, pool, report, session, tables
from integration.conformance.report import FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the files; 0 where every case that was run passed."""
    asked = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="keyfold-conformance-") as folder:
        spark = session.start(Path(folder))
        printed = [path for path in asked.files if path.suffix == ".sql"]
        cases = [path for path in asked.files if path not in printed]
        lines = files.read(cases, asked.id, asked.layout)
        found = []
        for result in pool.results(lines, spark, f"{session.CATALOG}.case", asked.threads):
            found.append(result)
            for line in report.lines(result):
                print(line, flush=True)
        for number, path in enumerate(printed):
            for end in documents.results(path, spark, f"{session.CATALOG}.document_{number}"):
                found.append(end)
                print(f"{end.status.upper()} {end.id}: {end.about}\n  {end.detail}", flush=True)
        spark.stop()
    print(report.summary(found))
    return int(any(result.status == FAILED for result in found))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m integration.conformance")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="cases, one per line, or documents.sql"
    )
    parser.add_argument("--id", default="*", help="pattern of the ids to run, as of file names")
    parser.add_argument(
        "--layout",
        choices=tables.LAYOUTS,
        default="write-only",
        help="one bucket, several buckets, or one bucket that is compacted after each commit",
    )
    parser.add_argument("--threads", type=int, default=pool.THREADS, help="cases at once")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
