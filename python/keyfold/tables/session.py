"""All that the tables of one connection share: the catalog's settings, users' functions, threads
and memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.lookup.rows_of_keys import Spread, one_by_one
from keyfold.merge.plan import check
from keyfold.options import provided
from keyfold.read.reader import limited
from keyfold.resources import budget
from keyfold.resources.threads import done, raised, streamed
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.path_tables import NAMELESS, open_place
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.rest.client import is_rest
from keyfold.stores.local import local_path
from keyfold.tables.newest import Lookups
from keyfold.user_functions.shipping import PREFIX
from keyfold.user_functions.sources import Sources

WAREHOUSE = "spark-warehouse"  # Spark's own default, below the folder of the process
LEAST_MEMORY = 128 << 20
FEW_KEYS = 1 << 12  # up to these, one thread is faster than several


@dataclass
class Session:
    """One connection. It can be pickled, and used by threads and by forked processes."""

    name: str
    options: Mapping[str, str]
    modules: tuple[str, ...]
    threads: int
    memory: int
    lookup_memory: int
    registered: dict[str, str] = field(default_factory=dict)
    _lookups: tuple[int, Lookups] | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def of(
        name: str,
        warehouse: str | os.PathLike[str] | None,
        options: Mapping[str, Any],
        *,
        modules: tuple[str, ...],
        threads: int | None,
        memory: int | None,
        lookup_memory: int,
    ) -> Session:
        """The session of what a user gave. Raises TableError if a number is too small."""
        given = {key: str(value) for key, value in options.items()}
        if warehouse is None and "uri" not in given:
            warehouse = Path(WAREHOUSE, name)
        if warehouse is not None:  # that of a REST server is a name
            named = os.fspath(warehouse)
            given["warehouse"] = named if is_rest(given) else _absolute(named)
        cores = len(os.sched_getaffinity(0)) if threads is None else threads
        most = budget.DEFAULT * min(cores, 4) if memory is None else memory
        if cores < 1 or most < LEAST_MEMORY or lookup_memory < 0:
            raise TableError(
                f"connection {name}: expected threads of 1 or more, memory of {LEAST_MEMORY} bytes "
                f"or more and lookup_memory of 0 bytes or more, found {cores}, {most} and "
                f"{lookup_memory}"
            )
        return Session(name, given, modules, cores, most, lookup_memory)

    def catalog(self) -> Catalog:
        """The catalog, kept open by this process."""
        return open_catalog(self.name, self.options, check)

    @property
    def lookups(self) -> Lookups:
        """The rows that look-ups keep. A forked process begins with nothing: other threads of its
        parent may have held locks.
        """
        process = os.getpid()
        if self._lookups is None or self._lookups[0] != process:
            self._lookups = (process, Lookups(self.lookup_memory))
        return self._lookups[1]

    def spread(self, keys: int) -> Spread:
        """A way to run the jobs of a look-up: in all threads if there are many keys."""
        if keys <= FEW_KEYS or self.threads == 1:
            return one_by_one
        working = partial(self.working, self.threads)
        return lambda jobs: raised(done(jobs, self.threads, working))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_lookups": None}

    def streamed(
        self, makers: Sequence[Callable[[], Iterator[pa.RecordBatch]]], limit: int | None
    ) -> Iterator[pa.RecordBatch]:
        """The batches that the makers give, read ahead by threads; at most `limit` rows."""
        working = partial(self.working, min(self.threads, len(makers)) or 1)
        found: Iterator[pa.RecordBatch] = streamed(makers, self.threads, working)
        return found if limit is None else limited(found, limit)

    def holder(self, namespace: str, name: str) -> Catalog:
        """The catalog of a table: that of its path, if it has no namespace."""
        if namespace == NAMELESS:
            return open_place(self.name, name, self.options, check)
        return self.catalog()

    @contextmanager
    def working(self, shares: int = 1) -> Iterator[None]:
        """Within its block users' functions are found, and memory is one of `shares` parts."""
        found = Sources(self.modules, self.registered)
        with provided.by(found), budget.limited(self.memory // shares):
            yield


class Settings:
    """Takes the functions that `keyfold.register(catalog, …)` brings, as Spark's settings do."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def set(self, name: str, value: str) -> None:
        """Keep a function under its name. Raises TableError if it is another setting."""
        if not name.startswith(PREFIX):
            raise TableError(f"setting {name}: expected a function of keyfold.register")
        self._session.registered[name.removeprefix(PREFIX)] = value


def _absolute(location: str) -> str:
    """A place that stays, whatever the folder of the process is later."""
    local = local_path(location)
    return location if local is None else str(Path(local).expanduser().absolute())
