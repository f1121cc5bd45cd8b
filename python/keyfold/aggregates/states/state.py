"""The declaration of an aggregate's state: its arguments, the fields of its buffer, their fold.

The fields are those of Spark's own buffer, by Spark's rules of types, so that the bytes are the
same whether Spark or keyfold merges two states.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keyfold.types.logical import DataType

Types = Sequence[DataType]
Kind = Literal["spark", "bag", "sketch", "fold"]


@dataclass(frozen=True)
class StateFunction:
    """An aggregate whose states can be kept.

    `takes` gives the types to which its arguments are cast; it raises ValueError, which says what
    it takes. `fields` are the fields of the state of such arguments. `fold` names the way in which
    rows of a key merge (`aggregates.agg_state`).
    `constants` name the arguments behind the others that are constant: they are part of a state,
    not of its signature. A default of None has to be given.
    The rest is for the JVM. `kind` says how it makes a state: as the buffer of Spark's function
    `unites`; as a bag of values, which `unites` says to be a list or a set; or as a sketch, by a
    function `unites` of keyfold, whose input `prepares` makes. `finishes` makes the result. A fold
    is an aggregate of keyfold or of a user: its state is its value so far, or nothing before it had
    a row."""

    name: str
    takes: Callable[[Types], Types]
    fields: Callable[[Types], Types]
    fold: str
    aliases: tuple[str, ...] = ()
    constants: tuple[tuple[str, str | None], ...] = ()
    kind: Kind = "spark"
    unites: str = ""
    prepares: str = ""
    finishes: str = ""
    summary: str = ""
