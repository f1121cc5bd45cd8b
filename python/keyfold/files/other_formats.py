"""Data files of other engines that have no footer of Parquet: what reading one takes, and whether
one is whole.
"""

from contextlib import suppress

from keyfold.errors import NotSupportedError
from keyfold.files import damage, orc
from keyfold.files.avro import data_files as avro
from keyfold.stores.files import Files

SUFFIXES = (orc.SUFFIX, avro.SUFFIX)
_EXPANDED = 4  # decoded bytes for each that is stored, roughly
_HELD = {orc.SUFFIX: orc.STRIPE_BYTES, avro.SUFFIX: 4 << 20}


def held_bytes(path: str, size: int) -> int:
    """The bytes, roughly, of decoded rows that are held while a file of a size is read."""
    return min(decoded_bytes(size), *(most for end, most in _HELD.items() if path.endswith(end)))


def decoded_bytes(size: int) -> int:
    """The bytes, roughly, of all rows of a file of a size."""
    return size * _EXPANDED


def rows_of(store: Files, path: str, size: int) -> int | None:
    """The number of rows that a file says it has; None if only its rows tell. Raises
    CorruptDataError if it is missing, cut short, or not of its format.
    """
    if path.endswith(avro.SUFFIX):
        avro.opened(store, path, size)
        return None
    return int(orc.opened(store, path, size).nrows)


def decode(store: Files, path: str, size: int, rows: int) -> None:
    """Raises CorruptDataError if its rows can't be decoded, or are not `rows`."""
    if path.endswith(avro.SUFFIX):
        if (found := avro.decoded_rows(store, path, size)) != rows:
            raise damage.data_file(path, f"expected {rows} rows, found {found}")
        return
    source = orc.opened(store, path, size)
    with damage.decoding(path, is_remote=not store.is_local), suppress(NotSupportedError):
        for _ in orc.stripes(path, source, source.schema.names):
            pass  # NotSupportedError: a time that was so written
