"""Which partitions an overwrite replaces, from the filters Spark gives it (driver side).

A filter must decide about a partition as a whole: exactly one of "it holds" and "it does not" may
be possible for the partition's values. What can't be decided so is refused, never guessed.
"""

from collections.abc import Callable, Sequence
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.files.value_text import partition_text
from keyfold.predicates.prune import partition_ranges
from keyfold.predicates.ranges import Ranges, columns_of, conjuncts, decided
from keyfold.predicates.sql_text import describe
from keyfold.storage.metadata.entries import partition_values
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, Json, WriteSpec
from keyfold.write.targets import DEFAULT

Replaces = Callable[[tuple[Any, ...]], bool]


def replaced_by(layout: TableLayout, filters: Sequence[Json]) -> Replaces:
    """Whether a partition (manifest values) is replaced; NotSupportedError for other columns."""
    predicates = list(conjuncts(filters))
    for predicate in predicates:
        others = columns_of(predicate) - set(layout.partition_keys)
        if others:
            raise NotSupportedError(
                f"table {layout.name}: an overwrite replaces whole partitions, so its condition "
                f"takes partition columns ({', '.join(layout.partition_keys) or 'there is none'}); "
                f"found {describe(predicate)}. INSERT replaces single rows by their key"
            )

    def replaces(values: tuple[Any, ...]) -> bool:
        ranges = partition_ranges(layout, values)
        return all(_holds(layout, predicate, ranges) for predicate in predicates)

    return replaces


def check_whole(spec: WriteSpec, messages: Sequence[CommitMessage], replaces: Replaces) -> None:
    """NotSupportedError where rows that name some columns, or overwrite, come to a partition that
    is not replaced: an overwrite writes whole rows, which would fold with stored ones otherwise.
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


def _holds(layout: TableLayout, predicate: Json, ranges: Ranges) -> bool:
    """Whether the predicate is true for a partition; NotSupportedError if that is not decidable."""
    found = decided(predicate, ranges)
    if found is None:
        raise NotSupportedError(
            f"table {layout.name}: whether a partition is replaced can't be decided from "
            f"{describe(predicate)}; compare partition columns with constants"
        )
    return found
