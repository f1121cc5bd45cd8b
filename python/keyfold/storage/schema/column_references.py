"""The options of a table that name one of its columns, and are renamed and dropped with it; column
names as the table declares them, where a statement spells them in another case.

Spark finds columns whatever their case; keys, partitioning and options of CREATE do the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from keyfold.aggregates import aggregates
from keyfold.options.names import FIELD, named_columns, parts, with_columns

Options = Mapping[str, str]


def renamed(options: Options, old: str, new: str) -> dict[str, str]:
    """The options after a column got another name."""
    return with_columns(options, lambda name: new if name == old else name)


def renamed_field(options: Options, column: str, old: str, new: str) -> dict[str, str]:
    """The options after a field inside of a column got another name."""
    found = dict(options)
    for name in _nested(options, column):
        found[name] = ",".join(new if part == old else part for part in parts(found[name]))
    return found


def without(options: Options, column: str) -> dict[str, str]:
    """The options after a column was dropped for which `needing` finds no option."""
    kept = {}
    for name, text in options.items():
        in_name, in_value = named_columns(name, text, options.get("merge-engine"))
        if in_name != [column]:
            left = ",".join(part for part in in_value if part != column)
            kept[name] = left if column in in_value else text
    return kept


def needing(options: Options, column: str) -> Iterator[str]:
    """The options that would mean something else without the column: they order records by it, or
    hash it, or protect nothing but it.
    """
    for name, text in options.items():
        in_name, in_value = named_columns(name, text, options.get("merge-engine"))
        is_whole = FIELD.match(name) is None and column in in_value
        if is_whole or in_value == [column] or (in_value and column in in_name):
            yield name


def needing_field(options: Options, column: str, field: str) -> Iterator[str]:
    """The options that name a field inside of a column."""
    return (name for name in _nested(options, column) if field in parts(options[name]))


def _nested(options: Options, column: str) -> list[str]:
    """The options that name fields inside of a column."""
    parameters = {one.name: one for own in aggregates().values() for one in own.parameters}
    named = (f"fields.{column}.{one.name}" for one in parameters.values() if one.names_fields)
    return [name for name in named if name in options]


@dataclass(frozen=True)
class Spelling:
    """The declared names by their lower case; no two differ only in case."""

    by_lower: Mapping[str, str]

    def of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The declared spelling of each; a name that no column has stays as it is."""
        return tuple(map(self._own, names))

    def in_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """The options, column names in their names and values spelled so."""
        return with_columns(options, self._own)

    def _own(self, name: str) -> str:
        return self.by_lower.get(name.lower(), name)


def spelling_of(names: Iterable[str]) -> Spelling:
    return Spelling({name.lower(): name for name in names})
