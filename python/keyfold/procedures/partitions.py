"""expire_partitions: partitions that are too old go, with Paimon's arguments."""

from collections.abc import Sequence
from typing import Any

from keyfold.errors import TableError
from keyfold.lifetime.partition_times import texts
from keyfold.lifetime.rules import UPDATE_TIME, ExpiryRule
from keyfold.options.checks import check_partition_pattern
from keyfold.options.declared import TableOptions
from keyfold.options.option import Option
from keyfold.options.values import given
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import default_name
from keyfold.write.expired_partitions import expire

_OF_TABLE = "that of the table when left out"
_PATTERN = "expire_partitions: timestamp_pattern"


def _expire(
    call: ProcedureCall,
    expiration_time: str | None,
    timestamp_formatter: str | None,
    timestamp_pattern: str | None,
    expire_strategy: str | None,
    max_expires: int | None,
    dry_run: bool,
) -> Rows:
    table = call.newest()
    if not table.layout.partition_keys:
        raise TableError(f"expire_partitions: table {table.layout.name} is not partitioned")
    asked: dict[str, tuple[Option[Any], Any]] = {
        "seconds": (TableOptions.partition_seconds, expiration_time),
        "strategy": (TableOptions.partition_strategy, expire_strategy),
        "formatter": (TableOptions.partition_formatter, timestamp_formatter),
        "pattern": (TableOptions.partition_pattern, timestamp_pattern),
        "most": (TableOptions.partitions_at_once, max_expires),
    }
    values = {
        name: _parsed(option, str(value))
        for name, (option, value) in asked.items()
        if value is not None
    }
    rule, by_options = ExpiryRule.of(table.options, **values), expiration_time is None
    if rule.seconds is None and not table.options.auto_partitions:
        raise TableError(
            f"expire_partitions: expiration_time is missing, and table {table.layout.name} has no "
            "partition.expiration-time"
        )
    if rule.seconds is not None and rule.strategy != UPDATE_TIME and rule.pattern is not None:
        where = "option partition.timestamp-pattern" if timestamp_pattern is None else _PATTERN
        check_partition_pattern(table.layout, where, rule.pattern)
    gone = expire(table, rule, by_options=by_options, dry_run=dry_run)
    return [{"expired_partitions": _shown(table.layout, values)} for values in gone] or [
        {"expired_partitions": NONE}
    ]


def _shown(layout: TableLayout, values: Sequence[Any]) -> str:
    pairs = zip(layout.partition_keys, texts(layout, values), strict=True)
    return ", ".join(f"{n}={default_name(layout) if text is None else text}" for n, text in pairs)


def _parsed(option: Option[Any], text: str) -> Any:
    return given(f"expire_partitions: {option.name}", text, option.parse, TableError)


NONE = "No expired partitions."
EXPIRE_PARTITIONS = Procedure(
    "expire_partitions",
    "removes the partitions that are too old",
    (
        ProcedureParameter("expiration_time", "STRING", f"their age, as '7 d'; {_OF_TABLE}"),
        ProcedureParameter(
            "timestamp_formatter", "STRING", f"how texts are times, as 'yyyyMMdd'; {_OF_TABLE}"
        ),
        ProcedureParameter(
            "timestamp_pattern", "STRING", f"the text of a time, as '$dt $hour:00:00'; {_OF_TABLE}"
        ),
        ProcedureParameter(
            "expire_strategy",
            "STRING",
            f"'values-time', or 'update-time': the age of their last write; {_OF_TABLE}",
        ),
        ProcedureParameter("max_expires", "INT", f"at most so many; {_OF_TABLE}"),
        ProcedureParameter("dry_run", "BOOLEAN", "name them, and remove none", False),
    ),
    {"expired_partitions": "STRING"},
    _expire,
    "Removes the partitions that are too old ([partitions that go](partitions.md)).",
    changes_rows=True,
)
