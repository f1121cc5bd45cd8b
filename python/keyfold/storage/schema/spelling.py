"""Column names as a table declares them, where a statement spells them in another case.

Spark finds columns whatever their case; keys, partitioning and options of CREATE do the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keyfold.options import FIELD, FIELD_NAMING, NAMING


@dataclass(frozen=True)
class Spelling:
    """The declared names by their lower case; no two differ only in case."""

    by_lower: Mapping[str, str]

    def of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The declared spelling of each; a name no column has stays."""
        return tuple(map(self._own, names))

    def in_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """The options, column names in their names and values spelled so."""
        return {self._name(name): self._value(name, text) for name, text in options.items()}

    def _own(self, name: str) -> str:
        return self.by_lower.get(name.lower(), name)

    def _name(self, option: str) -> str:
        match = FIELD.match(option)
        return option if match is None else f"fields.{self._list(match[1])}.{match[2]}"

    def _value(self, option: str, text: str) -> str:
        match = FIELD.match(option)
        is_naming = option in NAMING or (match is not None and match[2] in FIELD_NAMING)
        return self._list(text) if is_naming else text

    def _list(self, text: str) -> str:
        return ",".join(self._own(part.strip()) for part in text.split(","))


def spelling_of(names: Iterable[str]) -> Spelling:
    """The spelling of these columns."""
    return Spelling({name.lower(): name for name in names})
