"""Errors about stored bytes that can't be right, and the failures that mean such bytes.

An error names the file, what is wrong with it and what can be done. docs/faults.md has the whole
story.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from keyfold.errors import CorruptDataError, KeyfoldError

DATA_ADVICE = (
    "restore the file from a backup; without one its rows are lost: rows of other partitions and "
    "keys can still be read, and INSERT OVERWRITE or DROP PARTITION (in Python table.overwrite) "
    "takes the file out of the table"
)
METADATA_ADVICE = (
    "restore the file from a backup; without one, and if an older snapshot can be read (VERSION AS "
    "OF; in Python table.scan(snapshot=…)), go back to it by removing the files "
    "snapshot/snapshot-<n> of those after it: what these committed is lost; never remove the last "
    "one, as it alone names the rows that are left"
)
SCHEMA_ADVICE = (
    "restore the file from a backup; without its schema no file of the table can be read"
)

# Words in Arrow's errors about broken Parquet. A store has failures of its own without a number.
_BROKEN = re.compile(r"thrift|decompress|corrupt|unexpected end|CRC|page|Parquet", re.IGNORECASE)


def data_file(path: str, found: object) -> CorruptDataError:
    """The error: a data file is not what was written."""
    return CorruptDataError(f"data file {path} can't be read: {found}; {DATA_ADVICE}")


def metadata_file(kind: str, path: str, found: object) -> CorruptDataError:
    """The error: a snapshot, manifest or manifest list is not what was written."""
    return CorruptDataError(f"{kind} {path} can't be read: {found}; {METADATA_ADVICE}")


def entry(found: object) -> CorruptDataError:
    """The error: the key or a statistic of a file, in a manifest, is not what was written."""
    return CorruptDataError(
        f"an entry of a manifest can't be read: {found!r}; the newest snapshot of the table lists "
        f"its manifests ($manifests); {METADATA_ADVICE}"
    )


def schema_file(path: str, table: str, found: object) -> CorruptDataError:
    """The error: a schema is not what was written."""
    return CorruptDataError(
        f"schema file {path} of table {table} can't be read: {found}; {SCHEMA_ADVICE}"
    )


def without_schemas(folder: str, table: str, snapshot_id: int) -> CorruptDataError:
    """The error: of a table all but its schemas is there. Where folders can be renamed, no DROP
    TABLE leaves that behind.
    """
    return CorruptDataError(
        f"table {table} has lost its schemas: expected schema-<n> in {folder}, found none, while "
        f"snapshot {snapshot_id}, its newest, is there; {SCHEMA_ADVICE} (DROP TABLE, in Python "
        "catalog.drop_table, removes all)"
    )


def index_file(path: str, found: object) -> CorruptDataError:
    """The error: an index file, whose bitmaps say which rows of data files are deleted, is not what
    was written.
    """
    return CorruptDataError(
        f"index file {path}, which marks deleted rows, can't be read: {found}; {DATA_ADVICE}"
    )


def of_size(found: int, expected: int) -> str:
    """Words for an error: a file has another size than expected."""
    how = "cut short" if found < expected else "longer than was written"
    return f"it is {how}: expected {expected} bytes, found {found}"


@contextmanager
def present(path: str) -> Iterator[None]:
    """Surrounds opening or fetching a data file. If it is missing, it raises CorruptDataError by
    the FileNotFoundError: `snapshot_folder.reading` decides whether it expired.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise data_file(path, "it is missing") from error


@contextmanager
def decoding(path: str, *, is_remote: bool = False) -> Iterator[None]:
    """Surrounds the decoding of a data file. Raises CorruptDataError if its bytes are wrong.
    Failures of a disk, a store or the memory stay what they are.
    """
    try:
        yield
    except (KeyfoldError, MemoryError, pa.ArrowCancelled):
        raise
    except OSError as error:  # Arrow's form, without a number, for broken pages
        if error.errno is not None or (is_remote and not _BROKEN.search(str(error))):
            raise
        raise data_file(path, f"{error}".strip()) from error
    except (pa.ArrowException, ValueError, LookupError, OverflowError, SystemError) as error:
        raise data_file(path, f"{error}".strip()) from error
