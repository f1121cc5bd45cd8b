"""The conformance runner on real tables: what passes, and that wrong results are seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.conformance import files, pool, tables
from integration.conformance.report import FAILED, PASSED, REFUSED, SKIPPED, Result

CASES = Path(__file__).resolve().parent


def run(path: Path, spark: SparkSession, layout: str = "write-only") -> list[Result]:
    lines = files.read([path], "*", layout)
    namespaces = f"keyfold.conformance_{path.stem}_{layout.replace('-', '_')}"
    return list(pool.results(lines, spark, namespaces, threads=2))


def test_own_cases_pass_in_all_layouts(spark: SparkSession) -> None:
    for path in sorted(CASES.glob("*.jsonl")):
        for layout in tables.LAYOUTS:
            results = run(path, spark, layout)
            assert [result for result in results if result.status == FAILED] == []
            assert {result.status for result in results} >= {PASSED}
        first = f"conformance_{path.stem}_{{}}_0.t"
        assert statuses(spark, first.format("write_only")) == {"committed"}
        assert statuses(spark, first.format("compacted")) == {"skipped"}  # it is done


def statuses(spark: SparkSession, table: str) -> set[str]:
    return {row.status for row in spark.sql(f"CALL keyfold.sys.compact('{table}')").collect()}


def changed(raw: dict[str, Any]) -> dict[str, Any]:
    """The same case, wrong: a row more, or rows in place of an error."""
    if "expect_changelog" in raw:
        return {**raw, "expect_changelog": raw["expect_changelog"][:-1]}
    if "expect_elements" in raw:
        return {**raw, "expect_elements": [{"b": [77]}]}
    rows = raw.get("expect") or [[None for _ in raw["columns"]]]
    wrong = {**raw, "expect": [*rows, rows[0]], "path_dependent": False}
    return {name: value for name, value in wrong.items() if name != "expect_error"}


def test_wrong_cases_fail(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    texts = [text for file in CASES.glob("*.jsonl") for text in file.read_text().splitlines()]
    raws = [raw for raw in map(json.loads, texts) if raw.get("expect") != []]
    path.write_text("\n".join(json.dumps(changed(raw)) for raw in raws), encoding="utf-8")
    results = run(path, spark)
    assert len(results) == len(raws)
    assert [r.id for r in results if r.status not in (FAILED, SKIPPED)] == []
    assert all("expected" in r.detail for r in results if r.status == FAILED)


def test_what_is_refused_by_name_is_shown_with_the_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "overflow.jsonl"
    options = {"fields.v.aggregate-function": "sum"}
    rows = [[{"kind": "+I", "row": [1, 127]}], [{"kind": "+I", "row": [1, 1]}]]
    case = {"id": "wraps", "engine": "aggregation", "about": "a sum that wraps around",
            "columns": [["k", "INT"], ["v", "TINYINT"]], "primary_key": ["k"], "options": options,
            "commits": rows, "expect": [[1, -128]]}  # fmt: skip
    foreach = {"id": "foreach", "engine": "aggregate-key", "about": "sums by position",
               "columns": [["k", "INT"], ["a", "ARRAY<INT>"]], "key": ["k"],
               "agg": {"a": "REPLACE"}, "defaults": {}, "commits": [],
               "query": "SELECT sum_foreach(a) FROM t", "expect": [[None]]}  # fmt: skip
    unknown = {**foreach, "id": "unknown", "query": "SELECT sum_foreach_of(a) FROM t"}
    path.write_text("\n".join(map(json.dumps, (case, foreach, unknown))), encoding="utf-8")
    wraps, by_position, other = run(path, spark)
    assert wraps.status == by_position.status == REFUSED
    assert "overflow is refused" in wraps.detail
    assert "docs/states.md" in by_position.detail
    assert other.status == FAILED
