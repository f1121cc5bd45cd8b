"""One case, whatever system it came from: a table, what is written, and what must come of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Raw = Mapping[str, Any]
PHASES = ("create", "write", "read")


@dataclass(frozen=True)
class Insert:
    """One INSERT of whole rows; `targets` names the columns that count, None for all."""

    rows: Sequence[Sequence[Any]]
    targets: tuple[str, ...] | None = None
    merge_mode: str | None = None
    is_sql: bool = False


@dataclass(frozen=True)
class Statement:
    """A statement as the case words it; the table is `t`."""

    text: str


@dataclass(frozen=True)
class Compaction:
    """All files of the table into one run per bucket."""


Commit = Insert | Statement | Compaction


@dataclass(frozen=True)
class Refusal:
    """A refusal in `phase` or earlier; `text` is the system's own message, or a part of it."""

    text: str
    phase: str = "read"


@dataclass(frozen=True)
class Rows:
    """The rows of the query as a multiset; the order inside the `unordered` columns is free."""

    rows: Sequence[Sequence[Any]]
    unordered: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Elements:
    """For each row the bits set in the bitmaps of some columns."""

    rows: Sequence[Mapping[str, Sequence[int]]]


@dataclass(frozen=True)
class Estimates:
    """For each row what the sketches in some columns say, within their error."""

    rows: Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class Changelog:
    """The changes (kind and row) that a case expects: a list for each commit that has any, or one
    for all without `has_commits`. With `is_exact` rows are as they came, else each key has one
    change a commit; with `is_by_record` the case lists each record of a commit. Without
    `has_before` updates have no -U, and whether the first one of a key is a +I is free.
    """

    groups: Sequence[Sequence[tuple[str, Sequence[Any]]]]
    has_commits: bool = True
    is_exact: bool = False
    is_by_record: bool = False
    has_before: bool = True


@dataclass(frozen=True)
class Numbered:
    """The buckets of the keys that are there, each with an id of its own: those of a bucket are the
    first numbers of its ranges of `at_once`. If `ids` are given, they are these.
    """

    buckets: Mapping[Any, int]
    at_once: int
    ids: Mapping[Any, int] = field(default_factory=dict)


Expectation = Refusal | Rows | Elements | Estimates | Numbered


@dataclass(frozen=True)
class Lookup:
    """The rows of one key once all is committed; `by` are its columns, None for the primary key.
    One that `inserts` puts a row there if there is none.
    """

    key: Sequence[Any]
    by: tuple[str, ...] | None
    expected: Rows | Refusal
    inserts: bool = False


@dataclass(frozen=True)
class Case:
    """Columns are (name, Spark SQL type); any one of `accepted` is right. A case that is `left_out`
    names the capability it needs. `declared` and `configured` are the names of `words`. `changes`
    are compared too if they are given.
    """

    id: str
    about: str
    create: str
    columns: Sequence[tuple[str, str]]
    commits: Sequence[Commit]
    accepted: Sequence[Expectation]
    functions: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None
    left_out: str | None = None
    lookups: Sequence[Lookup] = ()
    declared: frozenset[str] = frozenset()
    configured: Sequence[frozenset[str]] = ()
    key: Sequence[str] = ()
    changes: Changelog | None = None

    @property
    def inserts(self) -> bool:
        """Whether its lookups insert rows."""
        return any(lookup.inserts for lookup in self.lookups)


class Dialect(Protocol):
    """A module that knows one form of case."""

    def is_form(self, raw: Raw) -> bool:
        """Whether a case has the form."""

    def read(self, raw: Raw, layout: str) -> Case:
        """The case; KeyError, TypeError or ValueError where it has not the form after all."""
