"""Questions of `CALL sys.rescale` (driver side): plan it, commit it. Its tasks are those of a
compaction; it is also abandoned as one (`abandon_compaction`).
"""

from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.compact import rescale
from keyfold.errors import ConflictError, SnapshotExpiredError
from keyfold.merge.plan import plan
from keyfold.options import check_option, parse
from keyfold.questions.compact import abandon_compaction, messages_of
from keyfold.questions.serve import Questions, functions_for
from keyfold.storage.commits import rescale as storage
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle, open_newest
from keyfold.wire.specs import totals

QUESTIONS = Questions()


@QUESTIONS.look
@replanned
def plan_rescale(question: Frame) -> dict[str, Any]:
    """The plan that gives the table `buckets` buckets; `parallelism` tasks run at a time."""
    table = open_newest(question["table"], question["catalog"]["options"])
    table.check_readable()
    table.check_writable()
    layout, buckets = table.layout, question["buckets"]
    check_option(layout, "bucket", str(buckets))
    plan(layout, layout.arrow_schema.names)  # refuses here what this session lacks
    storage.check_rescalable(table)
    found = rescale.plan(table, buckets, question["parallelism"])
    own = {"handle": table.handle, **functions_for(question, layout)}
    before = {file.total_buckets for file in found.files} or {parse(layout).bucket}
    return {
        "compaction": found.spec.to_json() | own,
        "step": {"job": found.job, "buckets": buckets},
        "tasks": [task.to_json() for task in found.tasks],
        "buckets": max(before),
    } | totals(found.files)


@QUESTIONS.plain
def commit_rescale(question: Frame) -> dict[str, Any]:
    """Put the files of all tasks in the place of those they were made of, and the number of buckets
    in the schema. Raises ConflictError if another job committed to the table meanwhile. Then
    nothing has changed and the files are removed.
    """
    step, planned = question["step"], question["compaction"]
    messages = messages_of(question["results"])
    try:
        table = open_handle(planned["handle"], question["catalog"]["options"], latest=True)
        snapshot = storage.rescale(
            table, step["job"], step["buckets"], _planned(question, step["buckets"]), messages
        )
    except BaseException:
        abandon_compaction(question)
        raise
    return {"snapshot": followed(table, snapshot)} | totals(
        file for one in messages for file in one.files
    )


def _planned(question: Frame, buckets: int) -> tuple[LiveFile, ...]:
    """The files that the tasks read."""
    handle = question["compaction"]["handle"]
    table: Table = open_handle(handle, question["catalog"]["options"])
    try:
        return rescale.files_to_rescale(table, buckets)
    except SnapshotExpiredError as error:
        raise ConflictError(
            f"table {table.layout.name} was not rescaled: other jobs committed meanwhile, and the "
            f"snapshot it was planned on, {table.snapshot_id}, has expired; run it again"
        ) from error
