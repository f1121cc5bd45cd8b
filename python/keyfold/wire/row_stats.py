"""Statistics of a data file as they travel from the task that wrote it into a manifest."""

from __future__ import annotations

from dataclasses import dataclass

from keyfold.wire.codec import Wire


@dataclass(frozen=True)
class RowStats(Wire):
    """Statistics of columns: rows of their least and of their greatest values, NULL if unknown, in
    the bytes that manifests have, and how many values are NULL.
    """

    is_list = True

    least: bytes
    greatest: bytes
    nulls: tuple[int, ...]
