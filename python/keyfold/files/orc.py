"""ORC files, which other engines write: opened by pyarrow, decoded by the stripe."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.orc

from keyfold.errors import NotSupportedError
from keyfold.files import damage
from keyfold.files.fetch import in_ranges
from keyfold.stores.files import Files

SUFFIX = ".orc"
STRIPE_BYTES = 64 << 20  # what writers of ORC gather for a stripe
_FAR = "is out of range for nanosecond"  # of pyarrow's error; the file is as it was written


def opened(store: Files, path: str, size: int) -> pa.orc.ORCFile:
    """An ORC file. Raises CorruptDataError if it is missing, not as long as the manifest says, or
    not ORC.
    """
    with damage.present(path):
        source = store.open(path) if store.is_local else in_ranges(store, path, size)
    if source.size() != size:
        raise damage.data_file(path, damage.of_size(source.size(), size))
    with damage.decoding(path, is_remote=not store.is_local):
        return pa.orc.ORCFile(source)


def stripes(path: str, file: pa.orc.ORCFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, one stripe after another, in some of its columns. Raises
    NotSupportedError if it holds times that pyarrow can't give.
    """
    every = file.schema.names
    # pyarrow takes `a.b` for the field `b` of column `a`, even if the file has a column `a.b`
    is_path = any(name.startswith(f"{other}.") for name in names for other in every)
    columns = None if is_path else list(names)
    for stripe in range(file.nstripes):
        try:
            found = file.read_stripe(stripe, columns=columns)
        except pa.ArrowInvalid as error:
            if _FAR not in str(error):
                raise
            raise NotSupportedError(
                f"data file {path} can't be read here: expected timestamps of the years 1677 to "
                f"2262 in ORC, found another ({error}); leave the columns with timestamps out, or "
                "write the table anew with file.format = parquet"
            ) from None
        yield found.select(list(names)) if is_path else found
