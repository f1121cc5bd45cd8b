"""pypaimon and pypaimon-rust as readers and writers that know nothing of ours, for comparison.

They live in an environment of their own, build/readers, which `make` sets up from
requirements-readers.lock: their pins are not ours. One process of it answers all questions of a
test run (`readers_program.py`).
"""

from __future__ import annotations

import atexit
import json
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.option_names import option_names

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "build" / "readers" / "bin" / "python"

Json = dict[str, Any]
Catalog = Path | str | Mapping[str, str]  # its warehouse, or its options


class Refused(Exception):
    """The library can't do what it was asked; the text begins with the name of its error."""


class Program:
    """The process that answers, and a folder for the tables of a question."""

    def __init__(self) -> None:
        if not PYTHON.exists():
            raise FileNotFoundError(
                f"{PYTHON} does not exist: `make build/readers/.installed` sets up pypaimon and "
                "pypaimon-rust, which this test compares with, in an environment of their own"
            )
        self.scratch = tempfile.TemporaryDirectory(prefix="keyfold-readers-")
        self.rows, self.answer = (Path(self.scratch.name, name) for name in ("rows", "answer"))
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            [str(PYTHON), "-W", "ignore", str(Path(__file__).with_name("readers_program.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self.scratch.cleanup()

    def ask(self, question: Json, rows: pa.Table | None) -> Any:
        """What the program answers; Refused with its error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.lock:
            if rows is not None:
                with pa.ipc.new_file(self.rows, rows.schema) as file:
                    file.write_table(rows)
                question = {**question, "rows": str(self.rows)}
            told = json.dumps({**question, "answer": str(self.answer)})
            self.process.stdin.write(told + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
            if "error" in answer:
                raise Refused(answer["error"])
            if "value" in answer:
                return answer["value"]
            with pa.ipc.open_file(self.answer) as file:
                return file.read_all()


@lru_cache(maxsize=1)
def program() -> Program:
    """The one of this process."""
    return Program()


def ask(do: str, rows: pa.Table | None = None, **arguments: Any) -> Any:
    """What the libraries answer to a question of `readers_program.QUESTIONS`."""
    return program().ask({"do": do, **arguments}, rows)


def options(catalog: Catalog) -> Json:
    """A catalog's options, as both libraries take them."""
    is_folder = isinstance(catalog, Path | str)
    return {"warehouse": str(catalog)} if is_folder else {"metastore": "rest", **catalog}


def create(
    catalog: Catalog,
    table: str,
    columns: Mapping[str, Any],
    *,
    key: Sequence[str] = (),
    by: Sequence[str] = (),
    **named: str,
) -> None:
    """Make a table `database.table` of pypaimon's; `named` are options with _ for -."""
    fields = [
        {"id": number, "name": name, "type": kind}
        for number, (name, kind) in enumerate(columns.items())
    ]
    ask(
        "create",
        catalog=options(catalog),
        table=table,
        fields=fields,
        partition_keys=list(by),
        primary_keys=list(key),
        options=option_names(named),
    )


def write(catalog: Catalog, table: str, rows: pa.Table) -> None:
    """Append rows by pypaimon, in one commit."""
    ask("write", rows, catalog=options(catalog), table=table)


def read(catalog: Catalog, table: str, where: Sequence[Any] | None = None) -> pa.Table:
    """All merged rows as pypaimon reads them, or those that pass one of its predicates."""
    found: pa.Table = ask("read", catalog=options(catalog), table=table, where=where)
    return found


def changes(catalog: Catalog, table: str, plans: int) -> pa.Table:
    """The changes of so many snapshots as pypaimon streams them, each behind its `_row_kind`."""
    found: pa.Table = ask("changes", catalog=options(catalog), table=table, plans=plans)
    return found


def read_by_rust(catalog: Catalog, table: str) -> pa.Table:
    """All merged rows as pypaimon-rust reads them."""
    found: pa.Table = ask("read_by_rust", catalog=options(catalog), table=table)
    return found


def files(catalog: Catalog, table: str) -> list[Json]:
    """The live files as pypaimon sees them."""
    found: list[Json] = ask("files", catalog=options(catalog), table=table)
    return found


READERS = {"pypaimon": read, "pypaimon-rust": read_by_rust}
