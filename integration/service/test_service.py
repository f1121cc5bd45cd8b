"""The service for some seconds, while a Python program upserts; __main__ has longer runs."""

from pathlib import Path

from integration.service.load import loaded

REFRESH_MS = 50


def test_answers_are_right_and_no_older_than_the_refresh(tmp_path: Path) -> None:
    run = loaded(tmp_path, 5_000, 3, refresh_ms=REFRESH_MS, clients=3)
    report = run.report()
    assert run.errors == []
    assert report.requests > 30
    assert report.commits > 2
    assert any(version for one in run.asked for version in one.versions.values())
    assert report.most_stale_ms <= REFRESH_MS
