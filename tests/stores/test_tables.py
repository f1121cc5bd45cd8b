"""Tables in a bucket: made once, written by several processes at once, read, compacted, dropped."""

import time
from random import Random
from typing import Any

import pytest

from keyfold.errors import (
    ConflictError,
    NotSupportedError,
    TableExistsError,
    UnknownOutcomeError,
)
from keyfold.storage.branching.clone import clone
from keyfold.stores import objects
from keyfold.stores.objects import ObjectFiles
from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write, rows_of, table_of
from tests.concurrency.processes import CONTEXT
from tests.machine.direct import Direct
from tests.machine.steps import Machine
from tests.storage import tables
from tests.stores import kinds, proxy
from tests.stores.life import lived

PROCESSES = 4
JOBS = 3
COUNTER = -1
# Google's is S3's, with other names of headers.
SERVERS = pytest.mark.parametrize("served", ["s3", "azure"], indirect=True)


def writer(options: Options, number: int, barrier: Any, told: Any) -> None:
    """Make the table, then commit after commit: a key of its own, and one more in a counter."""
    barrier.wait()
    try:
        jobs.made(
            options,
            merge_engine="aggregation",
            fields__v__aggregate_function="sum",
            commit__timeout="10 min",
        )
    except TableExistsError:
        has_made = False
    else:
        has_made = True
    acknowledged = []
    for job in range(JOBS):
        key = number * JOBS + job
        Write(options, [{"k": key, "v": 1}, {"k": COUNTER, "v": 1}]).run().commit()
        acknowledged.append(key)
    told.put((has_made, acknowledged))


@SERVERS
def test_every_acknowledged_commit_is_there_once(options: Options) -> None:
    barrier, told = CONTEXT.Barrier(PROCESSES), CONTEXT.Queue()
    writers = [
        CONTEXT.Process(target=writer, args=(options, n, barrier, told)) for n in range(PROCESSES)
    ]
    for process in writers:
        process.start()
    try:
        answers = [told.get(timeout=600) for _ in writers]
    finally:
        for process in writers:
            process.join(10)
            process.kill()
    assert sum(has_made for has_made, _ in answers) == 1
    keys = [key for _, acknowledged in answers for key in acknowledged]
    table = table_of(options)
    assert rows_of(table) == dict.fromkeys(keys, 1) | {COUNTER: PROCESSES * JOBS}
    assert sorted(table.snapshots.ids()) == list(range(1, PROCESSES * JOBS + 1))


def test_the_life_of_a_table(options: Options) -> None:
    lived(options)


@SERVERS
def test_statements_and_history(options: Options, seed: int) -> None:
    """Also tags, branches, rollbacks and old snapshots, by the machine of tests/machine."""
    Machine(Direct(options, "deduplicate", {}), "deduplicate", Random(seed)).run(12)


def test_namespaces(options: Options) -> None:
    catalog = jobs.catalog(options)
    catalog.create_namespace(["shop"], {"owner": "me"})
    assert catalog.list_namespaces() == [["default"], ["shop"]]
    assert catalog.load_namespace(["shop"])["owner"] == "me"
    assert catalog.drop_namespace(["shop"], cascade=False)
    assert catalog.list_namespaces() == [["default"]]


def test_what_needs_a_rename_is_refused(options: Options) -> None:
    jobs.made(options)
    catalog = jobs.catalog(options)
    with pytest.raises(NotSupportedError, match="an object store has no rename"):
        catalog.rename_table(["default"], "t", ["default"], "u")
    with pytest.raises(NotSupportedError, match="INSERT OVERWRITE this one"):
        catalog.stage(["default"], "t", tables.new_table(), "create_or_replace")
    with pytest.raises(NotSupportedError, match="can't appear in one step; INSERT INTO a new"):
        clone(catalog.load_table(["default"], "t"), catalog, "default", "u", 1)


def test_a_staged_table_goes_if_its_query_fails(options: Options) -> None:
    catalog = jobs.catalog(options)
    staged = catalog.stage(["default"], "t", tables.new_table(), "create")
    with pytest.raises(TableExistsError):
        catalog.stage(["default"], "t", tables.new_table(), "create")
    catalog.abort_staged(staged)
    assert catalog.list_tables(["default"]) == []
    again = catalog.stage(["default"], "t", tables.new_table(), "create_or_replace")
    catalog.abort_staged(staged)  # of the table that is gone: this one stays
    catalog.commit_staged(again)
    assert catalog.load_table(["default"], "t").snapshot_id is None


def test_a_table_of_the_same_name_gets_no_snapshot_of_the_old_one(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropped and made anew between the last look at it and the publishing."""
    jobs.made(options)
    job = Write(options, [{"k": 1, "v": 1}]).run()
    create = ObjectFiles.create_exclusively

    def late(self: ObjectFiles, path: str, data: bytes) -> bool:
        if path.endswith("/snapshot-1"):
            monkeypatch.undo()
            jobs.catalog(options).drop_table(["default"], "t")
            time.sleep(1.1)
            jobs.made(options)
        return create(self, path, data)

    monkeypatch.setattr(ObjectFiles, "create_exclusively", late)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert table_of(options).snapshot_id is None


@SERVERS
def test_a_commit_that_is_not_answered_keeps_its_files(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its snapshot arrives after the job gave up: all that it names is there."""
    jobs.made(options)
    job = Write(options, [{"k": 1, "v": 1}]).run()
    monkeypatch.setattr(objects, "PAUSE", 0.001)
    kept: list[tuple[str, bytes]] = []
    create = ObjectFiles.create_exclusively

    with proxy.before(options[kinds.endpoint_of(options)], lambda _: proxy.LOST) as deaf:

        def unanswered(self: ObjectFiles, path: str, data: bytes) -> bool:
            kept.append((path, data))
            elsewhere = ObjectFiles(self.root, dict(self.options) | {"endpoint": deaf})
            return create(elsewhere, path, data)

        with monkeypatch.context() as patched:
            patched.setattr(ObjectFiles, "create_exclusively", unanswered)
            with pytest.raises(UnknownOutcomeError, match="its data files were kept"):
                job.commit()
    ((path, data),) = kept
    table_of(options).files.publish(path, data)
    assert rows_of(table_of(options)) == {1: 1}


def test_no_schema_and_no_text_holds_a_credential(options: Options) -> None:
    table = jobs.made(options)
    stored = table.files.read(f"{table.layout.location}/schema/schema-0").decode()
    for text in (stored, repr(table), str(table.describe()), str(table.handle)):
        for secret in (*kinds.SECRETS, "the-access-key"):
            assert secret not in text
