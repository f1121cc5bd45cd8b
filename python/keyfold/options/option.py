"""The declaration of a table option: all that parsing, checks, ALTER, calls and the documentation
use of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar, overload

from keyfold.lazy import cached_property

T = TypeVar("T")
Changes = Literal["in a call", "by ALTER", "while empty", "never"]


class OptionValues(Protocol):
    """Holds the values of options by their names."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The values."""


@dataclass(frozen=True, eq=False)
class Option(Generic[T]):
    """One option of tables; as an attribute of `TableOptions` it gives its value there.

    `parse` raises ValueError, which says what was expected. `absent` is the value if the table has
    none and there is no default. `changes`: a call may have another value; or only ALTER TABLE
    changes it, because it decides what the table's rows are; or ALTER TABLE does while the table is
    empty; or nothing does. A `per_call` option is one of single reads too. `names_columns`: its
    value is a list of columns, which are renamed there too. `required_to`: tables of other engines
    with another value can't be written, or neither read nor written. An option that `has_one_value`
    is declared only so that a table may name the value that holds in any case.
    """

    name: str
    parse: Callable[[str], T]
    default: str | None
    doc: str
    _: KW_ONLY
    absent: Any = None
    aliases: tuple[str, ...] = ()
    changes: Changes = "in a call"
    per_call: bool = False
    names_columns: bool = False
    required_to: Literal["", "write", "read or write"] = ""
    has_one_value: bool = False

    @overload
    def __get__(self, options: None, owner: type) -> Option[T]: ...
    @overload
    def __get__(self, options: OptionValues, owner: type) -> T: ...
    def __get__(self, options: OptionValues | None, owner: type) -> Option[T] | T:
        if options is None:
            return self
        value: T = options.values[self.name]
        return value

    @cached_property
    def unnamed(self) -> T:
        """The value in a table that does not name the option: parsed once, as most are not named
        and each question about a table parses its options.
        """
        value: T = self.absent if self.default is None else self.parse(self.default)
        return value


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """The parser of an option that need not have a value."""
    return parse
