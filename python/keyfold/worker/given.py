"""Options that a question gives for its own time."""

from collections.abc import Mapping
from dataclasses import replace

from keyfold import options
from keyfold.storage.table import Table


def with_options(table: Table, given: Mapping[str, str] | None) -> Table:
    """The table as if it had these options, which are checked; what is stored does not change."""
    stored = options.normalize(given or {})
    for name, text in stored.items():
        options.check_option(table.layout, name, text)
    return replace(table, layout=replace(table.layout, options={**table.layout.options, **stored}))
