"""The options `fields.<column>.<suffix>` that any column may have, by suffix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from keyfold.options.values import names

SUM_AND_COUNT = "sum-and-count"
ON_WRITE, NOW = "on-write", "current_timestamp"  # the option and its value
_GROUP = ".sequence-group"


class FieldOption(NamedTuple):
    """An option `fields.<column>.<suffix>` of any column; `names_columns` as for `Option`."""

    doc: str
    names_columns: bool = False


# By suffix. Parameters of single aggregates are checked where the aggregates are known.
FIELD_OPTIONS: Mapping[str, FieldOption] = {
    "aggregate-function": FieldOption(
        "Aggregate of the column under merge-engine aggregation, or in a sequence group."
    ),
    "ignore-retract": FieldOption("Whether -U and -D rows are left out of the column's aggregate."),
    ON_WRITE: FieldOption(
        f"`{NOW}`: each write sets the column, a TIMESTAMP, to the time of its job, whatever its "
        "rows bring."
    ),
    SUM_AND_COUNT: FieldOption(
        "Of a column whose function is `avg`: the two columns that hold its sum and its count.",
        names_columns=True,
    ),
    "sequence-group": FieldOption(
        "Under partial-update: columns that change only with a record whose `<column>` (or "
        "columns, separated by commas) is not less than before.",
        names_columns=True,
    ),
}
# Fluss puts the function before its parameter, `fields.x.listagg.delimiter`.
FIELD_ALIASES = {"agg": "aggregate-function", "delimiter": "list-agg-delimiter"}


def sequence_group_of(options: Mapping[str, str], name: str) -> str | None:
    """The option of the sequence group that a column is in, as its field or protected."""
    for option, protected in options.items():
        if option.endswith(_GROUP):
            fields = option.removeprefix("fields.").removesuffix(_GROUP)
            if name in (*names(fields), *names(protected)):
                return option
    return None
