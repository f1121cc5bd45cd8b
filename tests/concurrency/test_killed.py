"""Twenty writers of one table, two compactions, two expiries and a reader, killed at random: every
acknowledged commit is there, none twice.

KEYFOLD_STRESS_SECONDS makes it longer than the 8 s it takes; the long form is 60.
"""

import os
import random
import time
from pathlib import Path

from keyfold.storage.maintenance.retained import metadata
from keyfold.storage.table import Table
from tests.concurrency import jobs, roles
from tests.concurrency.processes import Crew
from tests.storage import tables
from tests.storage.snapshots import data_files, manifest_files
from tests.storage.tables import column

SECONDS = float(os.environ.get("KEYFOLD_STRESS_SECONDS", "8"))
LONG = 60.0
PATIENCE = 180.0
WRITERS = 20


def made(folder: Path) -> Table:
    """A table that sums: a commit that counts twice is seen."""
    new = tables.new_table(
        column("k"),
        column("v"),
        merge_engine="aggregation",
        fields__v__aggregate_function="sum",
        num_sorted_run__compaction_trigger="3",
        snapshot__num_retained__min="10",
        snapshot__time_retained="2 s",
    )
    return tables.table(folder, new)


def test_acknowledged_commits_are_there_once(tmp_path: Path, seed: int) -> None:
    found, folder, draw = made(tmp_path), str(tmp_path), random.Random(seed)
    warm(folder)
    crew = Crew(folder)
    try:
        for number in range(WRITERS):
            crew.hire(roles.writer, f"writer-{number}")
        for number in range(2):
            crew.hire(roles.compactor, f"compactor-{number}")
            crew.hire(roles.expirer, f"expirer-{number}")
        crew.hire(roles.reader, "reader")
        start = time.monotonic()
        while (passed := time.monotonic() - start) < SECONDS or not is_kept_up(folder):
            assert passed < SECONDS + PATIENCE, "no compaction ends, or nothing expires"
            time.sleep(draw.uniform(0.2, 1.2))
            crew.kill_one(draw)
    finally:
        crew.dismiss()
    check(found, folder)
    jobs.compacted(folder)
    check(found, folder)
    check_disk(found, folder)
    check(found, folder)


def warm(folder: str) -> None:
    """Everything once, so that nobody has to compile kernels meanwhile."""
    for key in (WRITERS << 40, WRITERS << 41):
        jobs.written(folder, [{"k": key, "v": 1}, {"k": roles.COUNTER, "v": 1}])
        roles.note(folder, "warm", "acknowledged", key)
    jobs.compacted(folder)
    jobs.rows_of(jobs.table_of(folder))


def check(found: Table, folder: str) -> None:
    """Compare what is in the table with what the processes noted."""
    rows = jobs.rows_of(tables.reload(found))
    counted = rows.pop(roles.COUNTER)
    acknowledged = {int(key) for (key,) in roles.notes(folder, "acknowledged")}
    refused = {int(key) for (key,) in roles.notes(folder, "refused")}
    assert acknowledged
    assert acknowledged - set(rows) == set(), "acknowledged, and not there"
    assert refused & set(rows) == set(), "refused, and there all the same"
    assert {key for key, times in rows.items() if times != 1} == set(), "there twice"
    assert counted == len(rows)
    lives = {key >> 20 for key in rows}
    assert len(set(rows) - acknowledged) <= len(lives), "a job writes one key at a time"
    assert roles.notes(folder, "misread") == []


def is_kept_up(folder: str) -> bool:
    """Whether compactions and expiries took place; most compactions meet writers that began before
    them: that one commits is waited for in the long form alone.
    """
    outcomes = {outcome for (outcome,) in roles.notes(folder, "compaction")}
    has_ended = "committed" in outcomes if SECONDS >= LONG else bool(outcomes)
    return has_ended and any(int(count) for (count,) in roles.notes(folder, "expired"))


def check_disk(found: Table, folder: str) -> None:
    """What killed jobs left behind is removed as orphans: what is left is what is needed."""
    jobs.expired(folder, 1)
    time.sleep(0.01)
    assert jobs.orphans_removed(folder, time.time())
    snapshot = found.snapshots.latest()
    assert data_files(found) == {file.name for file in found.manifests.live(snapshot)}
    assert manifest_files(found) == metadata(found.manifests, snapshot)
    left = {path.name for path in (Path(found.layout.location) / "snapshot").iterdir()}
    assert left == {"EARLIEST", "LATEST", f"snapshot-{snapshot.id}"}
