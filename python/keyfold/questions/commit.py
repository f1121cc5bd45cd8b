"""Questions of a write job (driver side): plan it, then commit or abort it, once.

The opaque `write` is the WriteSpec that the executors read, plus the handle of the table, which
only this file reads. `messages` are one list of CommitMessages per task.
"""

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from keyfold.bridge.frames import Frame
from keyfold.errors import ConflictError, NotSupportedError, TableError
from keyfold.files.paths import bucket_path
from keyfold.files.value_text import partition_text
from keyfold.merge.plan import plan
from keyfold.options.calls import MERGE_MODE, TARGET_COLUMNS, WRITE
from keyfold.predicates.prune import on_partitions
from keyfold.questions import maintenance
from keyfold.questions.call_options import call_options
from keyfold.questions.serve import Questions, functions_for, replanned
from keyfold.storage.commits import commit
from keyfold.storage.commits.outcomes import OUTCOMES, is_abandonable, snapshot_of
from keyfold.storage.metadata.entries import partition_values
from keyfold.storage.table import Table, open_handle, open_newest
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, Json, WriteSpec
from keyfold.write.delete import delete_rows
from keyfold.write.job import Job
from keyfold.write.renumber import renumber
from keyfold.write.targets import DEFAULT, folds_columns, merge_mode, named_columns

RANDOM_NUMBERS = 1 << 20
QUESTIONS = Questions()


@QUESTIONS.look
@replanned
def plan_write(question: Frame) -> dict[str, Any]:
    """The write of a new job, planned on the newest snapshot."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    table.check_writable()
    asked = call_options(WRITE, table, question.get("options"))
    named = named_columns(table.layout, targets(table, asked, question), question["mode"])
    spec = WriteSpec(
        layout=table.layout,
        columns=tuple(table.layout.column(name).name for name in question["columns"]),
        ordinal=question["ordinal"],
        sequence=sequence_of_job(table.highest_sequence()),
        job=str(uuid.uuid4()),
        mode=question["mode"],
        snapshot=table.snapshot_id,
        filters=tuple(question["filters"]),
        named=named,
        merge_mode=merge_mode(table.layout, asked.get(MERGE_MODE), named),
    )
    if spec.mode == "overwrite":
        table.live_files(partition_filter=replaced_by(table.layout, spec.filters))
    plan(spec.layout, spec.layout.arrow_schema.names)  # refuses here what this session lacks
    own = {"handle": question["table"], **functions_for(question, spec.layout)}
    return {"write": spec.to_json() | own}


def targets(table: Table, asked: Mapping[str, str], question: Frame) -> str | None:
    """The columns the write names; None for all. They are those of the user's option. Without it,
    a table that folds column by column has those the session extension saw in the statement (`*`:
    all).
    """
    seen = question.get("named")
    is_told = TARGET_COLUMNS in asked or seen in (None, "*") or not folds_columns(table.layout)
    return asked.get(TARGET_COLUMNS) if is_told else seen


@QUESTIONS.look
def check_write(question: Frame) -> None:
    """Refuse unknown options, and a write whose named columns are not known."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    asked = call_options(WRITE, table, question["options"])
    is_known = question["new"] or TARGET_COLUMNS in asked or question["named"] is not None
    if not is_known and folds_columns(table.layout):
        raise TableError(
            f"writing table {table.layout.name} needs the session extension of keyfold: the table "
            "folds column by column, and Spark alone does not say which columns a statement names. "
            "Start Spark with --conf spark.sql.extensions=keyfold.spark.KeyfoldExtensions, or "
            'write a DataFrame with .option("target-columns", "<names, the key among them>")'
        )


@QUESTIONS.look
def check_targets(question: Frame) -> None:
    """Refuse an INSERT of named columns that can't be written alone."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    asked = call_options(WRITE, table, question["options"])
    named_columns(table.layout, targets(table, asked, question), question["mode"])


def sequence_of_job(highest: int) -> int:
    """The sequence number of a job's rows: above every live one and in the order jobs start.

    The start in ms is shifted, so that each ms has 2^20 numbers to draw from and jobs don't tie.
    """
    start = int(time.time() * 1000) << 20
    return max(highest + 1, start) + random.SystemRandom().randrange(RANDOM_NUMBERS)


@QUESTIONS.plain
def commit_write(question: Frame) -> dict[str, Any]:
    """Publish the job's files as one snapshot. The answer is its id, null if nothing changed, and
    the buckets to consider for compaction: those with new files, none in a write-only table.

    `again`: the process that was asked before has died, and may have published.
    """
    spec, messages = job_of(question)
    handle = question["write"]["handle"]
    table = open_handle(handle, question["catalog"]["options"], latest=True)
    if question.get("again"):
        found = snapshot_of(table, spec.job, spec.snapshot)
        if found is not None:
            return {"snapshot": found, "touched": []}
        check_kept(spec, messages)
    rewritten: list[CommitMessage] = []

    def again(messages: Sequence[CommitMessage], sequence: int) -> Sequence[CommitMessage]:
        rewritten[:] = renumber(spec, messages, sequence)
        return rewritten

    try:
        if spec.mode == "append":
            published = commit.append(table, spec, messages, again)
        else:
            takes = replaced(table.layout, spec)
            if callable(takes):
                check_whole(spec, messages, takes)
            published = commit.overwrite(table, spec, messages, takes, again)
    except BaseException:
        # abort_write will name the earlier files, not these.
        if OUTCOMES.give_up(spec.job):
            Job(spec.layout, rewritten).remove()
        raise
    write_only = table.options.write_only
    buckets = [] if write_only else touched(question["messages"])
    return answered(table, published) | {"touched": buckets}


def touched(messages: Sequence[Sequence[Json]]) -> list[list[Any]]:
    """The partition (a batch as text, or null) and bucket of all tasks' files, each once."""
    places = [(message["partition"], message["bucket"]) for task in messages for message in task]
    return [list(place) for place in dict.fromkeys(places)]


def answered(table: Table, published: int | None) -> dict[str, Any]:
    """The answer to a commit; also starts the work that follows a commit."""
    if published is not None:
        maintenance.after_commit(table)
    return {"snapshot": published}


def replaced(
    layout: TableLayout, spec: WriteSpec
) -> Literal["all", "dynamic"] | Callable[[tuple[Any, ...]], bool]:
    """The partitions an overwrite replaces, in the form `storage.commits.commit` takes."""
    if spec.mode == "overwrite_dynamic":
        return "dynamic"
    return replaced_by(layout, spec.filters) if spec.filters else "all"


def replaced_by(layout: TableLayout, filters: Sequence[Json]) -> Callable[[tuple[Any, ...]], bool]:
    """The test of whether an overwrite by these filters replaces a partition."""
    return on_partitions(layout, filters, f"overwrite of partitions of table {layout.name}")


def check_whole(
    spec: WriteSpec, messages: Sequence[CommitMessage], replaces: Callable[[tuple[Any, ...]], bool]
) -> None:
    """Raises NotSupportedError if rows that name some columns, or overwrite, go to a partition that
    is not replaced: an overwrite writes whole rows, which would fold with stored ones there.
    """
    if spec.named is None and spec.merge_mode == DEFAULT:
        return
    for values in (partition_values(message.partition) for message in messages):
        if not replaces(values):
            where = partition_text(spec.layout, values) or "(all rows)"
            option = "merge_mode" if spec.named is None else "target-columns"
            raise NotSupportedError(
                f"table {spec.layout.name}: the overwrite's condition does not take partition "
                f"{where}, to which it brings rows, and {option} says what becomes of rows stored "
                f"there: INSERT those rows, or leave {option} out"
            )


@QUESTIONS.plain
def abort_write(question: Frame) -> None:
    """Delete the job's files, unless they are, or may be, part of a snapshot."""
    spec, messages = job_of(question)
    handle = question["write"]["handle"]
    try:
        table = open_handle(handle, question["catalog"]["options"], latest=True)
    except ConflictError:
        return  # they went with the table
    if is_abandonable(table, spec.job, spec.snapshot):
        Job(spec.layout, messages).remove()


def check_kept(spec: WriteSpec, messages: Sequence[CommitMessage]) -> None:
    """Raises ConflictError if a file of the job is gone: a commit that renumbered its rows died."""
    store = store_of(spec.layout.location, spec.layout.store)
    for message in messages:
        directory = bucket_path(spec.layout, message.partition, message.bucket)
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
    tasks = question["messages"]
    return spec, [CommitMessage.from_json(message) for task in tasks for message in task]


@QUESTIONS.plain
@replanned
def delete_where(question: Frame) -> dict[str, Any]:
    """Remove the rows that satisfy all filters, predicates over key columns."""
    table = open_newest(question["table"], question["catalog"]["options"])
    table.check_rewritable()
    found, job = delete_rows(table, question["filters"]), str(uuid.uuid4())
    try:
        published = commit.rewrite(table, job, found.removed, found.job.messages)
    except BaseException:
        if OUTCOMES.give_up(job):
            found.job.remove()
        raise
    return answered(table, published)


@QUESTIONS.plain
def truncate_table(question: Frame) -> dict[str, Any]:
    """Remove all rows."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    table.check_writable()
    return answered(table, commit.truncate(table))
