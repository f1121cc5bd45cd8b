"""All cases, several at once: each in a session of its own, with a namespace of its own."""

import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from integration.conformance import run
from integration.conformance.case import Case
from integration.conformance.files import Line
from integration.conformance.report import FAILED, PASSED, REFUSED, SKIPPED, Result

THREADS = 6


def results(
    lines: Iterable[Line], spark: SparkSession, namespaces: str, threads: int = THREADS
) -> Iterator[Result]:
    """What came of each, in the order of the lines; `namespaces` is what their names begin with."""
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(
            lambda numbered: result(numbered[1], spark, f"{namespaces}_{numbered[0]}"),
            enumerate(lines),
        )


def result(line: Line, spark: SparkSession, namespace: str) -> Result:
    """What came of one case. A failure of the runner itself fails the case, with its traceback."""
    case = line.case
    if not isinstance(case, Case):
        return Result(line.file, line.id, "", FAILED, case)
    if case.left_out:
        return Result(line.file, line.id, case.about, SKIPPED, case.left_out)
    try:
        wrong = run.verdict(case, spark.newSession(), namespace)
    except run.RefusedByName as reason:
        return Result(line.file, line.id, case.about, REFUSED, str(reason))
    except Exception:
        wrong = f"the runner failed: {traceback.format_exc()}"
    return Result(line.file, line.id, case.about, FAILED if wrong else PASSED, wrong or "")
