"""The statements of other systems' documents, and that the runner sees wrong results."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from integration.conformance import documents
from integration.conformance.report import FAILED

WRONG = """
-- block: rows
SELECT 1, 'x; y';
-- rows: (1, 'x')
-- block: refused
SELECT 1;
-- refused: x
-- block: misnamed
SELECT nothing;
-- refused: something else
SELECT 1;
-- note: is no statement; SELECT nothing;
-- block: fails
SELECT nothing; SELECT 1;
"""


def test_each_runs_or_is_refused_by_name(spark: SparkSession) -> None:
    found = list(documents.results(documents.DOCUMENTS, spark, "keyfold.documents"))
    assert [(one.id, one.detail) for one in found if one.status == FAILED] == []
    assert len(found) > 20


def test_wrong_ends_are_seen(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "wrong.sql"
    path.write_text(WRONG, encoding="utf-8")
    found = list(documents.results(path, spark, "keyfold.wrong_documents"))
    assert [one.id for one in found] == ["rows:1", "refused:1", "misnamed:1", "fails:1"]
    assert {one.status for one in found} == {FAILED}
