"""Questions of a write job (driver side): plan it, then commit or abort it, once.

The opaque `write` is the WriteSpec that the executors read, plus the handle of the table, which
only this file reads. `messages` are those of all tasks, as texts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyfold.bridge.frames import MESSAGES, Frame
from keyfold.errors import ConflictError, TableError
from keyfold.lookup.of_tasks import CARRIED
from keyfold.options.calls import TARGET_COLUMNS, TRANSACTION_APP, TRANSACTION_VERSION, WRITE
from keyfold.options.changelogs import INPUT, is_awaited
from keyfold.questions.serve import CODE, Questions, functions_for
from keyfold.read.call_options import call_options
from keyfold.storage.commits.epochs import passed_over
from keyfold.storage.commits.job_places import JobPlaces
from keyfold.storage.commits.outcomes import snapshot_of
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle
from keyfold.stores.opened import store_of
from keyfold.wire.message_texts import Messages
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import CommitMessage, Epoch, WriteSpec
from keyfold.write import jobs
from keyfold.write.jobs import RowChangeJob
from keyfold.write.overwritten import truncated
from keyfold.write.targets import leaves_others, named_columns

QUESTIONS = Questions()


@QUESTIONS.look
@replanned
def plan_write(question: Frame) -> dict[str, Any]:
    """The write of a new job, planned on the newest snapshot."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    spec = jobs.plan_job(
        table,
        question["columns"],
        options={} if question.get("only_new") else _with_token(question),
        seen=question.get("named"),
        mode=question["mode"],
        filters=decoded(question["filters"]),
        ordinal=question["ordinal"],
        query=question.get("query"),
        changes=row_changes(table, question),
        only_new=bool(question.get("only_new")),
    )
    own = {"handle": question["table"], **functions_for(question, spec.layout)}
    own[CARRIED] = jobs.task_lookups(table, spec).to_json()
    return {"write": spec.to_json() | own}


def _with_token(question: Frame) -> Mapping[str, str]:
    """The options of a write, with the token that the session sets for its statements. An epoch of
    a streaming query is known by the query, and a token among the options by itself.
    """
    own: Mapping[str, str] = question.get("options") or {}
    is_known = {*map(str.lower, own)} & {TRANSACTION_APP.lower(), TRANSACTION_VERSION.lower()}
    if is_known or question.get("query") is not None:
        return own
    of_session = (question.get(CODE) or {}).get("writes", {})
    return {**of_session, **own}


def row_changes(table: Table, question: Frame) -> RowChangeJob | None:
    """The part of a statement that changes rows; None of other writes. If it has read rows, or its
    changelog needs them, then those of the snapshot of the handle.
    """
    told = question.get("changes")
    if told is None:
        return None
    reads_rows = told["reads"] or table.options.changelog_producer == INPUT
    handle = question["table"]
    reads = handle["snapshot_id"] or 0 if reads_rows else None
    read_job = (handle["known"] or {}).get("commitUser") if reads_rows else None
    stored = tuple(table.layout.column(name).name for name in told["stored"])
    is_once = bool(told.get("is_once"))
    return RowChangeJob(
        told["command"], reads, told["assigned"], stored, told["has_kinds"], is_once, read_job
    )


@QUESTIONS.look
def check_write(question: Frame) -> None:
    """Refuse unknown options, and a write whose named columns are not known."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    asked = call_options(WRITE, table, question["options"])
    is_known = question["new"] or TARGET_COLUMNS in asked or question["named"] is not None
    if not is_known and leaves_others(table.layout):
        raise TableError(
            f"writing table {table.layout.name} needs the session extension of keyfold: an INSERT "
            "of some columns leaves the others alone there, and Spark alone does not say which. "
            "Start Spark with --conf spark.sql.extensions=keyfold.spark.KeyfoldExtensions, or "
            'write a DataFrame with .option("target-columns", "<names, the key among them>")'
        )


@QUESTIONS.look
def check_targets(question: Frame) -> None:
    """Refuse an INSERT of named columns that can't be written alone."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    asked = call_options(WRITE, table, question["options"])
    targets = jobs.targets(table.layout, asked, question.get("named"))
    named_columns(table.layout, targets, question["mode"])


@QUESTIONS.plain
def commit_write(question: Frame) -> dict[str, Any]:
    """Publish the job's files as one snapshot. The answer is its id, null if nothing changed, and
    the buckets to consider for compaction, by partition: those with new files, none in a write-only
    table; `awaited` if the job waits until its changes are written.

    `again`: the process that was asked before has died, and may have published.
    """
    spec, messages = job_of(question)
    handle = question["write"]["handle"]
    table = open_handle(handle, question["catalog"]["options"], latest=True)
    if question.get("again"):
        found = snapshot_of(table, spec.job, spec.snapshot, spec.planned_by)
        if found is not None:
            return {"snapshot": found, "touched": []}
        check_kept(spec, messages)
    published = jobs.publish(table, spec, messages)
    is_due = published is not None and not (table.options.write_only or jobs.is_write_only(spec))
    buckets = touched(messages) if is_due else []
    awaited, told = is_awaited(table.options), _passed_over(table, spec.epoch, published)
    return {"snapshot": published, "touched": buckets, "awaited": awaited, **told}


def _passed_over(table: Table, epoch: Epoch | None, published: int | None) -> dict[str, Any]:
    """The part of an answer that tells the user of a write which the table had already: one that
    finds no rows to change has a snapshot. A batch of a query may be empty, and then it has none.
    """
    if published is not None or epoch is None or epoch.is_of_query:
        return {}
    return {"passed_over": 1, "note": passed_over(table, epoch)}


def touched(messages: Sequence[CommitMessage]) -> list[list[Any]]:
    """The partitions of all files, each with its buckets."""
    ours = JobPlaces.of(messages)
    return [[one.to_json(), sorted(ours.buckets[v])] for v, one in ours.partitions.items()]


@QUESTIONS.plain
def abort_write(question: Frame) -> None:
    """Delete the job's files, unless they are, or may be, part of a snapshot."""
    spec, messages = job_of(question)
    handle = question["write"]["handle"]
    try:
        table = open_handle(handle, question["catalog"]["options"], latest=True)
    except ConflictError:
        return  # they went with the table
    jobs.abandon(table, spec, messages)


def check_kept(spec: WriteSpec, messages: Sequence[CommitMessage]) -> None:
    """Raises ConflictError if a file of the job is gone: a commit that renumbered its rows died."""
    store = store_of(spec.layout.location, spec.layout.store)
    for message in messages:
        directory = message.partition.bucket_folder(spec.layout, message.bucket)
        for file in message.files:
            if not store.exists(f"{directory}/{file.name}"):
                raise ConflictError(
                    f"commit to table {spec.layout.name}: the process that committed died while "
                    "it gave the job's rows later numbers, as other jobs committed meanwhile "
                    f"({file.name} is gone); nothing has changed: run the job again"
                )


def job_of(question: Frame) -> tuple[WriteSpec, Sequence[CommitMessage]]:
    """The job of a question and the files all its tasks wrote."""
    spec = WriteSpec.from_json(question["write"])
    if spec.epoch is not None and "epoch" in question:  # a query's numbers are known at the end
        spec = replace(spec, epoch=replace(spec.epoch, number=question["epoch"]))
    if spec.changes is not None and "statement" in question:  # as are a statement's counts of rows
        text = json.dumps(question["statement"])
        spec = replace(spec, changes=replace(spec.changes, statement=text))
    return spec, Messages(question.get(MESSAGES, ()))


@QUESTIONS.plain
def delete_where(question: Frame) -> dict[str, Any]:
    """Remove the partitions that satisfy all filters, without reading them."""
    table, epoch = _with_epoch(question)
    published = jobs.delete_partitions(table, decoded(question["filters"]), epoch)
    return {"snapshot": published, **_passed_over(table, epoch, published)}


@QUESTIONS.plain
def truncate_table(question: Frame) -> dict[str, Any]:
    """Remove all rows."""
    table, epoch = _with_epoch(question)
    table.check_writable()
    published = truncated(table, epoch=epoch)
    return {"snapshot": published, **_passed_over(table, epoch, published)}


def _with_epoch(question: Frame) -> tuple[Table, Epoch | None]:
    """The newest state of a table, and the epoch of a statement that the session gives a token."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    asked = call_options(WRITE, table, _with_token(question))
    return table, jobs.epoch_of(table.layout.name, asked, None)
