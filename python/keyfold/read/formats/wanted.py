"""The parts of data files that a reader asks for, whatever their format."""

from collections.abc import Callable
from dataclasses import dataclass

from keyfold.predicates.ranges import Ranges

BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class Wanted:
    """The parts to read of each file: table columns, and whether `_SEQUENCE_NUMBER` belongs to
    them, or `_VALUE_KIND` whatever it holds, or the marks of partial writes even if the file lacks
    them, or `_POSITION`, the place of each row in the file, which then comes last.

    `keep` takes the ranges of a row group, of key columns and of the columns `ranges`, and says
    whether it may hold rows of interest; a caller that knows the `groups` names them. `decide` are
    the columns that decide which rows are needed; None if all rows are. Batches have at most about
    `batch_bytes`, and at most `batch_rows`.
    """

    columns: tuple[str, ...]
    sequence: bool = False
    kinds: bool = False
    marks: bool = False
    positions: bool = False
    keep: Callable[[Ranges], bool] | None = None
    groups: tuple[int, ...] | None = None
    ranges: tuple[str, ...] = ()
    decide: tuple[str, ...] | None = None
    batch_bytes: int = BATCH_BYTES
    batch_rows: int = BATCH_ROWS
