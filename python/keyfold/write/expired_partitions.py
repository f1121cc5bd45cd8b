"""Partitions that are too old go: after commits, and when a procedure asks.

What is too old is decided by the files that are there when the removal commits. A partition that is
written meanwhile stays if the time of its last write counts. Unless the table's options ask for it,
changes and streams show nothing of what goes: no one has deleted it.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from keyfold.errors import TableError
from keyfold.lifetime.rules import ExpiryRule, Values, out_of_date, too_old
from keyfold.resources.cache import Cache
from keyfold.storage.commits import commit
from keyfold.storage.commits.answers import Answer
from keyfold.storage.commits.commit import Replaced
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.storage.waiting_files import waiting
from keyfold.wire.message_texts import heads
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.overwritten import with_changelog

_CHECKED: Cache[float] = Cache(1024)  # when tables were last looked at, by their homes


def now() -> datetime.datetime:
    """The time by this process's clock."""
    return datetime.datetime.now(datetime.timezone.utc)


def expire(
    table: Table,
    rule: ExpiryRule,
    *,
    at: datetime.datetime | None = None,
    by_options: bool = False,
    dry_run: bool = False,
) -> list[Values]:
    """Remove the partitions that are too old `at` a time, now when it is not given, as
    `rules.too_old` has them; returns them.
    """
    table.check_writable()
    found = partial(too_old, table, rule, now=at or now(), by_options=by_options)
    gone = found(table.live_files() + waiting(table))[: rule.most]
    if dry_run:
        return gone
    removed: list[Values] = []
    for batch in _batches(gone, rule.batch):
        removed += _removed(table, batch, found)
    return removed


def _batches(gone: Sequence[Values], size: int | None) -> Iterator[Sequence[Values]]:
    step = size or max(len(gone), 1)
    return (gone[begin : begin + step] for begin in range(0, len(gone), step))


def _removed(
    table: Table, batch: Sequence[Values], found: Callable[[Sequence[LiveFile]], list[Values]]
) -> list[Values]:
    """The partitions of a batch that are gone after one commit."""
    taken: list[Values] = []
    published: Answer

    def choose(live: Sequence[LiveFile]) -> Replaced:
        named = set(batch)
        there = found([file for file in live if file.partition in named])
        taken[:] = there
        return set(there).__contains__

    if table.options.partition_changes:
        published = with_changelog(table, partial(commit.expire, table, choose, is_silent=False))
    else:
        published = commit.expire(table, choose)
    assert published is None or isinstance(published, int)
    return taken if followed(table, published) is not None else []


def before_commit(
    table: Table, spec: WriteSpec, messages: Sequence[CommitMessage]
) -> tuple[Sequence[CommitMessage], bool]:
    """The messages that the table takes, and whether to `expire_due` after the commit: if this
    process has not looked for so long, or the job is a batch and the options want it then.
    """
    options = table.options
    if not options.expires_partitions:
        return messages, False
    kept, home = admitted(table, spec, messages), table.layout.home
    if options.write_only:
        return kept, False
    checked, seconds = _CHECKED.get(home), time.monotonic()
    is_due = checked is None or seconds - checked >= options.partition_check_seconds
    if is_due:
        _CHECKED.drop(home)
        _CHECKED.put(home, seconds)
    return kept, is_due or (spec.epoch is None and options.partition_check_last)


def expire_due(table: Table) -> None:
    """Remove what the table's options say. A failure is only logged: the next commit that looks
    tries again.
    """
    try:
        expire(table, ExpiryRule.of(table.options), by_options=True)
    except Exception as error:
        name = table.layout.name
        print(f"keyfold: partitions of table {name} did not expire: {error}", file=sys.stderr)


def admitted(
    table: Table, spec: WriteSpec, messages: Sequence[CommitMessage]
) -> Sequence[CommitMessage]:
    """The messages without those of partitions that are too old, if the table drops these. Raises
    TableError if it refuses them. A DELETE may change what is old.
    """
    options = table.options
    effect = options.old_writes or ("refuse" if options.auto_partitions else "accept")
    is_delete = spec.changes is not None and not spec.changes.is_unique
    if effect == "accept" or is_delete or not options.expires_partitions:
        return messages
    why = out_of_date(table.layout, options, now())
    late = next((one.partition for one in heads(messages) if why(one.partition.values)), None)
    if late is None:
        return messages
    if effect == "refuse":
        raise TableError(
            f"writing table {table.layout.name}: Partition value '{late.text}' is out-of-date. The "
            f"earliest retained partition is '{why(late.values)}'. Leave such rows out, or set "
            "keyfold.partition.old-writes to accept or drop"
        )
    return [message for message in messages if not why(message.partition.values)]
