"""The options of a table, parsed once into a frozen `TableOptions`. Unknown names, which tables of
other engines have, are ignored.
"""

from collections.abc import Mapping

from keyfold.options.declared import TableOptions, parsed_with
from keyfold.options.engines import traits
from keyfold.options.names import FIELD, normalize
from keyfold.options.values import given
from keyfold.wire.layout import TableLayout


def parse(layout: TableLayout) -> TableOptions:
    """Typed options of a table; raises TableError if a value doesn't parse."""
    stored = normalize(layout.options)
    options = parsed_with(stored.get(TableOptions.merge_engine.name))
    values = {
        name: given(f"option {name} of table {layout.name}", stored[name], option.parse)
        if name in stored
        else option.unnamed
        for name, option in options.items()
    }
    values[TableOptions.bucket_key.name] = values[TableOptions.bucket_key.name] or layout.key
    engine = traits(values[TableOptions.merge_engine.name])
    return TableOptions(values, _by_field(stored), engine)


def _by_field(stored: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in stored.items():
        match = FIELD.match(name)
        if match is not None:
            found.setdefault(match[1], {})[match[2]] = text
    return found
