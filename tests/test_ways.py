"""The way of a question through the rooms: down, with few climbs back up.

A way is the order in which one run enters functions for the first time, without the rooms on the
ground, which serve all others. A climb is a step of it into a room of a higher row (`test_layers`):
a lower room did some work between two parts of a higher one. `python -m tests.test_ways` prints the
ways.
"""

import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from keyfold.compact.jobs import plan_job
from keyfold.questions.commit import commit_write, plan_write
from keyfold.questions.scan import plan_scan
from keyfold.storage.table import Table
from keyfold.wire.message_texts import texts_of
from keyfold.wire.specs import WriteSpec
from keyfold.write.writer import write
from tests.read import harness
from tests.storage import tables
from tests.test_layers import PACKAGE, RANK

GROUND = RANK["kernels"]  # this row and those below it
# Climbs; plans look the fields of files up in their manifests as they need them.
MOST = {"write": 5, "commit": 2, "plan": 12, "compaction": 17}


def way(run: Callable[[], Any]) -> list[tuple[str, str]]:
    """The room and the name of each function of keyfold that a run enters, in order."""
    found: dict[Any, tuple[str, str]] = {}
    top = f"{PACKAGE}/"

    def entered(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(top)
            and not code.co_name.startswith("<")
        ):
            place = code.co_filename.removeprefix(top)
            room = place.split("/")[0].removesuffix(".py")
            if RANK[room] < GROUND:
                found.setdefault(code, (room, f"{place} {code.co_name}"))

    sys.setprofile(entered)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(found.values())


def climbs(found: list[tuple[str, str]]) -> int:
    """The number of steps into a room of a higher row."""
    ranks = [RANK[room] for room, _ in found]
    return sum(after < before for before, after in itertools.pairwise(ranks))


def of_insert(found: Table, catalog: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The ways of an INSERT's rows, and of its commit."""
    asked = {"catalog": catalog, "table": found.handle}
    insert = {"columns": ["k", "v"], "ordinal": False, "mode": "append", "filters": []}
    planned = plan_write(asked | insert)["write"]
    spec, messages = WriteSpec.from_json(planned), []
    rows = harness.batches(spec.layout, [{"k": n, "v": n} for n in range(20)])
    result = {"write": way(lambda: messages.extend(write(spec, iter(rows))))}
    ended = {"catalog": catalog, "write": planned, "messages": [*texts_of(messages)]}
    return result | {"commit": way(lambda: commit_write(ended))}


def ways(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Those, and the ways of the plan of a scan of its rows, and of the plan of a compaction of two
    INSERTs.
    """
    found = tables.table(folder)
    catalog = {"name": "test", "options": {"warehouse": str(folder)}}
    result = of_insert(found, catalog)
    handle = tables.reload(found).handle
    scan = {"catalog": catalog, "table": handle, "columns": ["k", "v"], "filters": []}
    result["plan"] = way(lambda: plan_scan(scan))
    of_insert(found, catalog)
    table = tables.reload(found)
    result["compaction"] = way(lambda: plan_job(table, "full"))
    return result


def test_questions_go_down(tmp_path: Path) -> None:
    found = ways(tmp_path)
    assert all(len(steps) > 50 for steps in found.values())
    assert {name: climbs(found[name]) for name in MOST if climbs(found[name]) > MOST[name]} == {}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for title, steps in ways(Path(made)).items():
            rooms = len({room for room, _ in steps})
            print(f"{title}: {len(steps)} functions, {rooms} rooms, {climbs(steps)} climbs")
            print(*(f"  {name}" for _, name in steps), sep="\n")
