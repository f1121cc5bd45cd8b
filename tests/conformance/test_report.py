"""What the runner prints, and which lines of a file it reads."""

import json
from pathlib import Path

import pytest

from integration.conformance import __main__, files, report
from integration.conformance.report import FAILED, PASSED, REFUSED, SKIPPED, Result

RESULTS = [
    Result("a.jsonl", "x", "about x", PASSED),
    Result("a.jsonl", "y", "about y", FAILED, "expected 1\n  found    2"),
    Result("a.jsonl", "z", "about z", SKIPPED, "lookups"),
    Result("a.jsonl", "w", "about w", REFUSED, "overflow"),
]


def test_lines_and_summary() -> None:
    printed = [line for result in RESULTS for line in report.lines(result)]
    assert printed == [
        "FAILED a.jsonl y: about y",
        "  expected 1\n  found    2",
        "SKIPPED a.jsonl z: lookups",
        "REFUSED a.jsonl w: overflow",
    ]
    assert report.summary(RESULTS) == "1 passed, 1 failed, 1 refused, 1 skipped"


def test_files_give_cases_or_the_reason_why_not(tmp_path: Path) -> None:
    good = {"id": "good", "engine": "deduplicate", "columns": [["k", "INT"]], "primary_key": ["k"],
            "options": {}, "commits": [], "expect": []}  # fmt: skip
    strange = {**good, "id": "strange", "engine": "sideways"}
    broken = {name: value for name, value in good.items() if name != "columns"} | {"id": "broken"}
    path = tmp_path / "c.jsonl"
    path.write_text("\n\n".join(map(json.dumps, (good, strange, broken))), encoding="utf-8")
    found = {line.id: line.case for line in files.read([path], "*", "write-only")}
    assert "engine 'sideways' belongs to no form" in str(found["strange"])
    assert "KeyError: 'columns'" in str(found["broken"])
    assert not isinstance(found["good"], str)
    assert [line.id for line in files.read([path], "b*", "write-only")] == ["broken"]


def test_layouts_are_named_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.parse(["--layout", "compacted", "x.jsonl"]).layout == "compacted"
    with pytest.raises(SystemExit):
        __main__.parse(["--layout", "sideways", "x.jsonl"])
    assert "'write-only', 'buckets', 'compacted'" in capsys.readouterr().err
