"""Options that a question gives for its own time."""

from collections.abc import Mapping
from dataclasses import replace

from keyfold import options
from keyfold.errors import TableError
from keyfold.storage.table import Table

_HOW = (
    "commit.",
    "compaction.",
    "data-file.",
    "file.",
    "keyfold.",
    "manifest.",
    "num-levels",
    "num-sorted-run.",
    "snapshot.",
    "source.split.",
    "target-file-size",
    "write-buffer-size",
    "write-only",
)


def with_options(table: Table, given: Mapping[str, str] | None) -> Table:
    """The table as if it had these options, which are checked; what is stored does not change.

    TableError for options that decide what the rows are, unless the table has them so: what is
    merged by other rules stays merged so.
    """
    layout, stored = table.layout, options.normalize(given or {})
    for name, text in stored.items():
        options.check_option(layout, name, text)
        if not name.startswith(_HOW) and layout.options.get(name) != text:
            raise TableError(
                f"option {name} of table {layout.name}: it decides what the table's rows are and "
                f"can't be given for one call; the table has "
                f"{layout.options.get(name, 'none')}, found '{text}'; ALTER TABLE sets options"
            )
    return replace(table, layout=replace(layout, options={**layout.options, **stored}))
