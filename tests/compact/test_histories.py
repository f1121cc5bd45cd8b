"""Any compaction leaves the rows of a table as they were: random histories of every engine."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from keyfold.errors import TableError
from keyfold.options.checks import check_create
from keyfold.options.names import normalize
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import MARKED_SUFFIX
from tests.compact import harness as compaction
from tests.compact.histories import History, rows, stored
from tests.draws import times
from tests.merge.random_tables import ENGINES, check_same, random_table
from tests.storage import tables

ROUNDS = times(2)
ADDS, ANY = (0, 2), (0, 0, 1, 2, 3)


def check_compaction(history: History, strategy: str, random: Random) -> bool:
    """Compact, and read the same; whether anything was done."""
    table = history.table
    before = rows(table)
    parallelism = random.choice((1, 4))
    done = compaction.compact(table, strategy, parallelism=parallelism)
    assert {one["outcome"] for one in done} <= {"committed"}
    names = table.layout.arrow_schema.names
    check_same(rows(table), before, names)
    check_same(rows(table, 200), before, names)
    return bool(done)


@pytest.mark.parametrize("engine_name", ENGINES)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_full_compaction_changes_no_row(
    tmp_path: Path, engine_name: str, number: int, seed: int
) -> None:
    random = Random(f"{seed} {engine_name} {number}")
    layout = random_table(random, engine_name)
    while is_refused(layout):
        layout = random_table(random, engine_name)
    table = stored(tmp_path, layout, target_file_size=random.choice(("1 kb", "128 mb")))
    history = History(random, table, random.choice((ADDS, ANY)))
    for _ in range(3):
        try:
            history.append(random.randrange(1, 4))
            rows(table)
        except TableError:
            return  # records that the engine refuses to fold, when written or read
        check_compaction(history, "full", random)
        assert set(compaction.levels(table)) <= {5}


def is_refused(layout: TableLayout) -> bool:
    """Whether CREATE does not take the table."""
    try:
        check_create(replace(layout, options={**normalize(layout.options), "bucket": "1"}))
    except TableError:
        return True
    return False


def depends_on_what_is_merged(layout: TableLayout) -> bool:
    """Whether records that fold and come in another order than they were written are in
    docs/engines.md: what depends on when files were compacted.
    """
    folds = not parse(layout).engine.keeps_records
    has_groups = any(name.endswith(".sequence-group") for name in layout.options)
    return folds and (has_groups or bool(parse(layout).sequence_fields))


@pytest.mark.parametrize("engine_name", ENGINES)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_minor_compactions_change_no_row(
    tmp_path: Path, engine_name: str, number: int, seed: int
) -> None:
    random = Random(f"{seed} minor {engine_name} {number}")
    layout = random_table(random, engine_name)
    while is_refused(layout) or depends_on_what_is_merged(layout):
        layout = random_table(random, engine_name)
    trigger = random.choice(("2", "3", "5"))
    table = stored(
        tmp_path,
        layout,
        num_sorted_run__compaction_trigger=trigger,
        num_levels="6",
        compaction__max_size_amplification_percent="1000",
    )
    history = History(random, table, ANY if engine_name == "deduplicate" else ADDS)
    history.append_base()
    compaction.compact(table)
    done = 0
    for _ in range(8):
        history.append(random.randrange(1, 4))
        done += check_compaction(history, random.choice(("minor", "minor", "auto")), random)
    assert done
    if parse(layout).engine.keeps_records:
        assert not any(f.name.endswith(MARKED_SUFFIX) for f in tables.reload(table).live_files())
