"""The partitions that an overwrite replaces."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from keyfold.errors import TableError
from keyfold.storage.metadata.entries import partition_values
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage

Partition = tuple[Any, ...]
Replaced = Callable[[Partition], bool]
Partitions = Literal["all", "dynamic"] | Sequence[Mapping[str, Any]] | Callable[[Partition], bool]


def replaced_by(
    table: Table, messages: Sequence[CommitMessage], partitions: Partitions
) -> Replaced:
    """A function: whether a partition's files are taken away. With `all` they are. With `dynamic`
    they are if the messages have files in the partition. With dictionaries they are if the
    partition agrees with one. A function is returned as it is.
    """
    if isinstance(partitions, str):
        if partitions == "all":
            return lambda partition: True
        return {partition_values(message.partition) for message in messages}.__contains__
    if callable(partitions):
        return partitions
    wanted = [_positions(table, values) for values in partitions]
    return lambda partition: any(
        all(partition[i] == value for i, value in one.items()) for one in wanted
    )


def _positions(table: Table, values: Mapping[str, Any]) -> dict[int, Any]:
    keys = table.layout.partition_keys
    stray = [name for name in values if name not in keys]
    if stray:
        raise TableError(f"table {table.layout.name} is not partitioned by {', '.join(stray)}")
    return {keys.index(name): value for name, value in values.items()}
