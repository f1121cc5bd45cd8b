"""The partitions that are too old, by options of Paimon or Fluss, or as a procedure asks."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold.errors import TableError
from keyfold.lifetime import auto_partitions
from keyfold.lifetime.last_written import last_written
from keyfold.lifetime.partition_times import texts, time_of
from keyfold.options.declared import TableOptions
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.wire.layout import TableLayout

Values = tuple[Any, ...]
IsOld = Callable[[Values], bool]
UPDATE_TIME = "update-time"


@dataclass(frozen=True)
class ExpiryRule:
    """The rule by which a partition is too old. `seconds` is its age, None if it has none to be
    told by; at most `most` go at once, in commits of `batch`.
    """

    seconds: float | None
    strategy: str
    formatter: str | None
    pattern: str | None
    most: int
    batch: int | None

    @staticmethod
    def of(options: TableOptions, **asked: Any) -> ExpiryRule:
        """The rule of a table's options, with the values asked for that are not None."""
        rule = ExpiryRule(
            options.partition_seconds,
            options.partition_strategy,
            options.partition_formatter,
            options.partition_pattern,
            options.partitions_at_once,
            options.partitions_of_batch,
        )
        return replace(rule, **{name: one for name, one in asked.items() if one is not None})


def old_by_values(layout: TableLayout, rule: ExpiryRule, now: datetime.datetime) -> IsOld:
    """Whether the values of a partition say a time that is too long ago. `now` has a zone; a
    partition that says no time is not too old. Raises TableError if the formatter is wrong.
    """
    try:
        read = time_of(layout, rule.formatter, rule.pattern)
    except ValueError as error:
        raise TableError(
            f"table {layout.name}: partition.timestamp-formatter is '{rule.formatter}', expected "
            f"{error}"
        ) from None
    bound = _before(now.astimezone().replace(tzinfo=None), rule.seconds or 0)
    return lambda values: (at := read(values)) is not None and at < bound


def _before(at: datetime.datetime, seconds: float) -> datetime.datetime:
    try:
        return at - datetime.timedelta(seconds=seconds)
    except OverflowError:
        return datetime.datetime.min


def out_of_date(
    layout: TableLayout, options: TableOptions, now: datetime.datetime
) -> Callable[[Values], str | None]:
    """Why rows for a partition come too late by the table's options: the value and the earliest
    that is kept. None if they don't, and always if partitions go by the time of their last write.
    """
    rules: list[tuple[IsOld, str]] = []
    rule = ExpiryRule.of(options)
    if rule.seconds is not None and rule.strategy != UPDATE_TIME:
        bound = _before(now.astimezone().replace(tzinfo=None), rule.seconds)
        rules.append((old_by_values(layout, rule, now), f"{bound:%Y-%m-%d %H:%M:%S}"))
    if options.auto_partitions:
        found = _auto(layout, options, now)
        rules += [] if found is None else [found]
    return lambda values: next((earliest for is_old, earliest in rules if is_old(values)), None)


def _auto(
    layout: TableLayout, options: TableOptions, now: datetime.datetime
) -> tuple[IsOld, str] | None:
    """Whether an auto-partition is older than those that are kept, and the earliest of these."""
    key = options.auto_partition_key or layout.partition_keys[0]
    form = auto_partitions.form_of(layout, options)
    earliest = auto_partitions.earliest_kept(options, now, form)
    if earliest is None:
        return None
    place = layout.partition_keys.index(layout.column(key).name)
    is_older = auto_partitions.is_older
    return lambda values: is_older(texts(layout, values)[place], earliest, form), earliest


def too_old(
    table: Table,
    rule: ExpiryRule,
    files: Iterable[LiveFile],
    now: datetime.datetime,
    *,
    by_options: bool = False,
) -> list[Values]:
    """The partitions of these files that are too old, in the order in which they go, all of them;
    `by_options` also those that the table's auto-partitions leave behind.
    """
    stored: dict[Values, list[LiveFile]] = {}
    for file in files:
        stored.setdefault(file.partition, []).append(file)
    layout, gone = table.layout, set[Values]()
    if rule.seconds is not None and rule.strategy == UPDATE_TIME:
        bound = (now.timestamp() - rule.seconds) * 1000
        gone |= {values for values, at in last_written(table, stored).items() if at < bound}
    elif rule.seconds is not None:
        gone |= set(filter(old_by_values(layout, rule, now), stored))
    if by_options and table.options.auto_partitions:
        found = _auto(layout, table.options, now)
        gone |= set() if found is None else set(filter(found[0], stored))
    return sorted(gone, key=lambda values: _order(layout, values))


def _order(layout: TableLayout, values: Sequence[Any]) -> str:
    return ",".join(text or "" for text in texts(layout, values))
