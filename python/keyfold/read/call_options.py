"""Options that apply to a single call: those of the table, and those of the call itself."""

from collections.abc import Mapping
from dataclasses import replace

from keyfold import options
from keyfold.errors import TableError
from keyfold.merge.plan import check
from keyfold.options.calls import Call, split
from keyfold.storage.schema.save_as_table import check_given
from keyfold.storage.table import Table


def with_options(table: Table, given: Mapping[str, str] | None) -> Table:
    """The table as if it had these options, which are checked; the stored table does not change.

    Raises TableError if an option decides what the rows are and the table has another value: rows
    already merged by the table's rules stay so.
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
    """The options given for one read or write, by their names in `options.calls`. Raises TableError
    if an option is unknown, or is one of the table's and has another value there.
    """
    own, of_table = split(
        call, table.layout.name, given or {}, table.layout.options.get("merge-engine")
    )
    check_given(table.layout, of_table, (), check)
    return own
