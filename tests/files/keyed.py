"""A file whose keys a test says."""

from dataclasses import dataclass
from typing import Any

from keyfold.wire.specs import DataFile


@dataclass(frozen=True)
class KeyedFile(DataFile):
    """What sections and picks look at of a live file."""

    first: tuple[Any, ...]
    last: tuple[Any, ...]
