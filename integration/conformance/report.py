"""What came of the cases, for people."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PASSED, FAILED, REFUSED, SKIPPED = "passed", "failed", "refused", "skipped"


@dataclass(frozen=True)
class Result:
    """One case's end; `detail` is what is wrong, why keyfold refuses it, or the capability it was
    left out for.
    """

    file: str
    id: str
    about: str
    status: str
    detail: str = ""


def lines(result: Result) -> Iterator[str]:
    """A failure with its difference, a case refused or left out with its reason; nothing for a
    pass.
    """
    if result.status == FAILED:
        yield f"FAILED {result.file} {result.id}: {result.about}"
        yield f"  {result.detail}"
    if result.status in (REFUSED, SKIPPED):
        yield f"{result.status.upper()} {result.file} {result.id}: {result.detail}"


def summary(results: Iterable[Result]) -> str:
    """The last line."""
    ends = [result.status for result in results]
    return ", ".join(
        f"{ends.count(status)} {status}" for status in (PASSED, FAILED, REFUSED, SKIPPED)
    )
