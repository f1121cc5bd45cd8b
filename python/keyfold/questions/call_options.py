"""Options that a question gives for its own time: those of the table, and those of the call."""

from collections.abc import Mapping
from dataclasses import replace

from keyfold import options
from keyfold.errors import TableError
from keyfold.merge.plan import check
from keyfold.options.calls import Call, split
from keyfold.storage.schema.save_as_table import check_given
from keyfold.storage.table import Table


def with_options(table: Table, given: Mapping[str, str] | None) -> Table:
    """The table as if it had these options, which are checked; what is stored does not change.

    TableError for options that decide what the rows are, unless the table has them so: what is
    merged by other rules stays merged so.
    """
    layout, stored = table.layout, options.normalize(given or {})
    for name, text in stored.items():
        options.check_option(layout, name, text)
        if not options.may_differ(name, text, layout.options):
            raise TableError(
                f"option {name} of table {layout.name}: it decides what the table's rows are and "
                f"can't be given for one call; the table has "
                f"{layout.options.get(name, 'none')}, found '{text}'; ALTER TABLE sets options"
            )
    return replace(table, layout=replace(layout, options={**layout.options, **stored}))


def call_options(call: Call, table: Table, given: Mapping[str, str] | None) -> dict[str, str]:
    """What is given for one read or write, by the names in `options.calls`; TableError for an
    option that is unknown, or of the table's with another value than it has.
    """
    own, of_table = split(
        call, table.layout.name, given or {}, table.layout.options.get("merge-engine")
    )
    check_given(table.layout, of_table, (), check)
    return own
