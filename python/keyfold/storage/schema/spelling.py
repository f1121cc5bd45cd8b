"""Column names as a table declares them, where a statement spells them in another case.

Spark finds columns whatever their case; keys, partitioning and options of CREATE do the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keyfold.options.names import with_columns


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
    """The spelling of these columns."""
    return Spelling({name.lower(): name for name in names})
