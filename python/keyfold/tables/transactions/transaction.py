"""A transaction of one table: what its calls write is one snapshot at the end of its block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from keyfold.errors import TableError
from keyfold.lookup.of_table import TableLookups
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table as Loaded
from keyfold.storage.table import open_handle
from keyfold.tables import calls
from keyfold.tables.column_definitions import selected
from keyfold.tables.doors import as_store_errors, doors
from keyfold.tables.newest import Answer, Ask
from keyfold.tables.scan import Scan, scan
from keyfold.tables.session import Session
from keyfold.tables.transactions import opened
from keyfold.tables.where.condition import Where
from keyfold.tables.writable import Writable
from keyfold.tables.writes import Destination
from keyfold.wire.specs import CommitMessage, Epoch, WriteSpec
from keyfold.write.jobs import epoch_of
from keyfold.write.transaction import TransactionJob


@dataclass(frozen=True)
class _Staging:
    """The state of a table within a transaction, which each call adds to."""

    session: Session
    job: TransactionJob

    def load(self) -> Loaded:
        return self.job.now()

    def publish(
        self, table: Loaded, spec: WriteSpec, messages: Sequence[CommitMessage]
    ) -> int | None:
        self.job.stage(spec, messages)
        return None


@replanned
def _begun(load: Callable[[], Loaded], epoch: Epoch | None) -> TransactionJob:
    return TransactionJob(load(), epoch)


@doors(lambda transaction: f"transaction of table {transaction.name}")
class Transaction(Writable):
    """A table within a transaction, `with table.transaction() as t:`. Its methods change and read
    the rows as those of a table do, and see what the transaction has written. All of it is
    committed at the end of the block, as one snapshot, or none of it if the block raises an error.
    The methods return None where those of a table return a snapshot.
    """

    def __init__(
        self, session: Session, namespace: str, name: str, options: Mapping[str, str]
    ) -> None:
        super().__init__(session, namespace, name)
        self._epoch = epoch_of(self.name, options, None)
        self._lock = threading.RLock()
        self._job: TransactionJob | None = None
        self._has_begun = self._is_repeated = False
        self._published: int | None = None
        self._warm: dict[tuple[int | None, tuple[str, ...]], TableLookups] = {}

    def __repr__(self) -> str:
        return f"<transaction of keyfold table {self.name}>"

    def __enter__(self) -> Transaction:
        if self._has_begun:
            raise TableError(
                f"transaction of table {self.name}: it is used twice; begin another one by "
                "table.transaction()"
            )
        opened.begin(self.name)
        try:
            with as_store_errors(f"transaction of table {self.name}"), self._session.working():
                self._job = _begun(super()._load, self._epoch)
        except BaseException:
            opened.end()
            raise
        self._has_begun, self._is_repeated = True, self._job.is_repeated
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        opened.end()
        with self._lock:
            job, self._job = self._open, None
        try:
            with as_store_errors(f"transaction of table {self.name}"), self._session.working():
                if kind is None:
                    self._publish(job)
        finally:
            self._session.lookups.changed((self._namespace, self._name))
            self._end(job)

    def _publish(self, job: TransactionJob) -> None:
        newest = open_handle(job.table.handle, self._session.options, latest=True)
        messages = job.messages
        self._published = job.publish(newest)
        if self._published is not None:
            calls.after_write(self._session, newest, messages)

    def _end(self, job: TransactionJob) -> None:
        self._warm.clear()
        try:
            job.end()
        except OSError:
            calls.LOG.warning(
                "%s: files of a transaction that ended were not removed; remove_orphans() does",
                self.name,
                exc_info=True,
            )

    @property
    def snapshot(self) -> int | None:
        """The id of the snapshot that it made; None before its end, and if nothing changed."""
        return self._published

    @property
    def is_repeated(self) -> bool:
        """Whether the table had its token already when it began: then nothing of it is kept."""
        return self._is_repeated

    # ---- read ----

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where = None,
        *,
        limit: int | None = None,
    ) -> Scan:
        """A read of the rows as they are now within the transaction, as `scan` of a table. It can
        be read until the end of the block.
        """
        table = self._load()
        self._open.reads = True
        return scan(self._session, table, columns, where, limit, {})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows by Arrow's C stream interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def _asked(
        self,
        columns: Sequence[str] | None,
        refresh_ms: float,
        ask: Ask[Answer],
    ) -> Answer:
        with self._session.working():
            table = self._load()
            self._open.reads = True
            key = table.snapshot_id, selected(table.layout, columns)
            if key not in self._warm:
                self._warm = {k: warm for k, warm in self._warm.items() if k[0] == key[0]}
                table.check_format()
                self._warm[key] = self._session.lookups.of(table, key[1])
            return ask(self._warm[key])

    # ---- what Table does otherwise ----

    @property
    def _open(self) -> TransactionJob:
        if self._job is not None:
            return self._job
        ended = "it has ended; begin another one by table.transaction()"
        begin = "it has not begun: with table.transaction() as t: …"
        why = ended if self._has_begun else begin
        raise TableError(f"transaction of table {self.name}: {why}")

    def _load(self) -> Loaded:
        return self._open.now()

    @property
    def _to(self) -> Destination:
        return _Staging(self._session, self._open)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:  # calls of several threads come one after another
            yield

    def _evolved(self, data: Any, columns: Sequence[str] | None, row_kind: str | None) -> Any:
        raise TableError(
            f"transaction of table {self.name}: evolve changes the table at once, which no end of "
            "a transaction takes back; alter the table before, or upsert(…, evolve=True) outside"
        )

    def _options_of(
        self, token: tuple[str, int] | None, merge_mode: str | None = None
    ) -> dict[str, str]:
        if token is not None:
            raise TableError(
                f"transaction of table {self.name}: a token is that of the transaction as a whole: "
                "table.transaction(token=…)"
            )
        return super()._options_of(token, merge_mode)
