"""docs/concurrency.md names the test of each pair of jobs, and no other."""

import re
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "concurrency.md"
FILES = ("test_pairs.py", "test_meanwhile.py", "test_isolation.py", "test_history.py")


def test_each_case_is_documented() -> None:
    documented = re.findall(r"`(test_[a-z]+(?:_[a-z]+)*_during_[a-z]+)`", DOCUMENT.read_text())
    text = "".join((HERE / file).read_text() for file in FILES)
    cases = re.findall(r"^def (test_\w+_during_\w+)\(", text, re.MULTILINE)
    assert sorted(documented) == sorted(cases)
