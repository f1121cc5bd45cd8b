"""What changelog files cost: a write, a full compaction, and both, with a producer and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from integration.bench.cases import upsert
from integration.bench.measure import Pace, Result, times
from integration.bench.spark import Session

NONE = "none"
PART = "10 %"  # of all keys, which a write changes
Create = Callable[[str, Mapping[str, str]], str]


def measured(
    session: Session,
    create: Create,
    folder: Callable[[str], Path],
    copy: Callable[[Path, Path], None],
) -> Iterator[Result]:
    """`changelog/<what>/<producer>`: each pair of tables does the same work else. `create` makes
    a table of the base's columns, `copy` puts a table's files in the place of another's.
    """
    settings, shape = session.settings, session.settings.base
    part = PART if PART in settings.fractions else settings.fractions[-1]
    few = session.few(shape, upsert(part), 0)
    base = session.runs(shape)[0]

    def compact(name: str) -> None:
        call = f"sys.compact(table => 'bench.{name}', compact_strategy => 'full')"
        steps = session.spark.sql(f"CALL keyfold.{call}").collect()
        assert {step.status for step in steps} == {"committed"}, steps

    def append(name: str) -> None:
        few.writeTo(f"keyfold.bench.{name}").append()

    def both(name: str) -> None:
        append(name)
        compact(name)

    for what, producer, act in (
        ("write", "input", append),
        ("compaction", "full-compaction", compact),
        ("both", "lookup", both),
    ):
        for own in (NONE, producer):
            name = f"told_{what}_{own}".replace("-", "_")
            before = f"{name}_before"
            create(before, {"write-only": "true", "changelog-producer": own})
            base.writeTo(f"keyfold.bench.{before}").append()
            compact(before)
            if what == "compaction":
                append(before)
            create(name, {})  # the catalog knows it; its files are those of the other
            pace = Pace(min(settings.repeat, 3), settings.budget)
            found = times(
                lambda turn, act=act, name=name: act(name),
                pace,
                before=lambda turn, name=name, before=before: copy(folder(before), folder(name)),
                files=[folder(before)],
            )
            rows = session.spark.table(f"keyfold.bench.{name}").count()
            assert rows == shape.rows, rows
            yield Result(f"changelog/{what}/{own}", session.system, found, settings.changed(part))
