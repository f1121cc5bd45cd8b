"""Sequence groups of partial-update: `fields.<g1>[,<g2> …].sequence-group = <protected columns>`.

The fields on the left order the group's records. The columns on the right change only with a record
that is not older. The checks and their messages are Paimon's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keyfold.errors import TableError
from keyfold.options.checks import check_ordered
from keyfold.options.declared import TableOptions
from keyfold.options.option import Option
from keyfold.options.values import boolean, names
from keyfold.wire.layout import TableLayout

SUFFIX = "sequence-group"
REMOVES = Option(
    "partial-update.remove-record-on-delete",
    boolean,
    "false",
    "A -D removes the row, where there are no sequence groups.",
    changes="by ALTER",
)
REMOVES_IN_GROUP = Option(
    "partial-update.remove-record-on-sequence-group",
    names,
    None,
    "Sequence fields; a -D that is not older in their group removes the row.",
    absent=(),
    changes="by ALTER",
    names_columns=True,
)


@dataclass(frozen=True)
class SequenceGroup:
    """One group. If it `removes`, a -D that is not older takes the whole row away."""

    fields: tuple[str, ...]
    protected: tuple[str, ...]
    removes: bool

    @property
    def option(self) -> str:
        """The option that declares it."""
        return f"fields.{','.join(self.fields)}.{SUFFIX}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The sequence fields and protected columns."""
        return (*self.fields, *self.protected)


def sequence_groups(options: TableOptions) -> tuple[SequenceGroup, ...]:
    """The groups in the order of their options. A sequence field that its own group names as
    protected stays a sequence field.
    """
    removing = options[REMOVES_IN_GROUP]
    return tuple(
        SequenceGroup(
            fields,
            tuple(name for name in names(given[SUFFIX]) if name not in fields),
            not set(fields).isdisjoint(removing),
        )
        for key, given in options.by_field.items()
        if SUFFIX in given
        for fields in (names(key),)
    )


def group_fields(options: TableOptions) -> set[str]:
    """The sequence fields of all groups."""
    return {name for group in sequence_groups(options) for name in group.fields}


def check_groups(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError if a group is not valid."""
    groups = _parsed(layout, options)
    for group in groups:
        for name in group.columns:
            _check_column(layout, group, name)
        for name in group.fields:
            check_ordered(layout, group.option, name)
    _check_disjoint(layout, groups)
    fields = group_fields(options)
    for name in options[REMOVES_IN_GROUP]:
        if name not in fields:
            raise TableError(
                f"table {layout.name}: field '{name}' defined in '{REMOVES_IN_GROUP.name}' option "
                "must be part of sequence groups; sequence fields are: "
                f"{', '.join(sorted(fields)) or 'none'}"
            )
    for name in sorted(fields):
        if "aggregate-function" in options.field_options(name):
            raise TableError(
                f"table {layout.name}, option fields.{name}.aggregate-function: Should not define "
                f"aggregation function on sequence group: [{name}]"
            )


def _parsed(layout: TableLayout, options: TableOptions) -> tuple[SequenceGroup, ...]:
    for key, given in options.by_field.items():
        try:
            names(key if SUFFIX in given else "-")
            names(given.get(SUFFIX, "-"))
        except ValueError as error:
            raise TableError(
                f"option fields.{key}.{SUFFIX} of table {layout.name}: expected {error}, "
                f"found '{given[SUFFIX]}'"
            ) from None
    return sequence_groups(options)


def _check_column(layout: TableLayout, group: SequenceGroup, name: str) -> None:
    where = f"table {layout.name}, option {group.option}"
    if not layout.has_column(name):
        raise TableError(f"{where}: Field {name} can not be found in table schema.")
    if name in layout.primary_key:
        raise TableError(
            f"{where}: The sequence-group '{group.option}' contains primary key field '{name}', "
            "which is not allowed. Primary key columns cannot be put in sequence-group."
        )


def _check_disjoint(layout: TableLayout, groups: Sequence[SequenceGroup]) -> None:
    seen: dict[str, SequenceGroup] = {}
    for name, group in _memberships(groups):
        first = seen.setdefault(name, group)
        if first is not group or group.columns.count(name) > 1:
            both = f"[{','.join(first.fields)}], [{','.join(group.fields)}]"
            raise TableError(
                f"table {layout.name}, option {group.option}: Field {name} is defined repeatedly "
                f"by multiple groups: {both}."
            )


def _memberships(groups: Sequence[SequenceGroup]) -> Iterator[tuple[str, SequenceGroup]]:
    return ((name, group) for group in groups for name in group.columns)
