"""Watermarks, which Flink leaves in snapshots: a table is read at one, or goes back to one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from keyfold.errors import TableError
from keyfold.storage.history import versions
from tests.concurrency import history_jobs, jobs


def test_a_table_goes_back_to_a_watermark(tmp_path: Path) -> None:
    """The newest snapshot whose watermark is not above; keyfold's own snapshots carry one on."""
    folder = str(tmp_path)
    jobs.made(folder, write_only="true")
    for number, watermark in enumerate((None, 10, 20, 20), 1):
        jobs.written(folder, [{"k": 1, "v": number}])
        snapshots = jobs.table_of(folder).snapshots
        marked = replace(snapshots.find(number), watermark=watermark)
        Path(snapshots.path(number)).write_text(json.dumps(marked.to_json()))
    jobs.written(folder, [{"k": 2, "v": 5}])
    found = jobs.table_of(folder)
    assert found.snapshots.find(5).watermark == 20
    assert versions.at_version(found, "watermark-11").snapshot_id == 3
    with pytest.raises(TableError, match="no snapshot whose watermark is at most 9"):
        history_jobs.asked(folder, "rollback_to_watermark", watermark=9)
    for watermark, left in ((25, 5), (19, 2)):
        (row,) = history_jobs.asked(folder, "rollback_to_watermark", watermark=watermark)
        assert row["current_snapshot_id"] == left
    assert jobs.rows_of(jobs.table_of(folder)) == {1: 2}
