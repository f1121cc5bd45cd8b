"""The reader of `make bench`, two processes of it, on keyfold's table."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from integration.bench import readers
from integration.bench.without_spark.serve import COLUMNS, Keys, Work, serve
from keyfold.storage.catalogs.warehouse import open_catalog


@cache
def processes() -> list[readers.Reader]:
    """Warm ones, which end with this process."""
    found = [readers.started() for _ in range(readers.TASKS)]
    for reader in found:
        reader.wait()
    return found


def reader_scan(path: str, keys: Keys) -> Work:
    """All rows, every cell of them."""
    place, asked = Path(path), processes()
    catalog = open_catalog(readers.SYSTEM, {"warehouse": str(place.parent.parent)})
    table = catalog.load_table([place.parent.stem], place.name)
    return lambda: int(readers.asked(asked, "scan", table, list(COLUMNS))[0])


if __name__ == "__main__":
    serve({"reader_scan": reader_scan})
