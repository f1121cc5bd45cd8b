"""A table that was built for a CREATE or REPLACE … AS SELECT and is not in its place yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Staged:
    """A table built aside; JSON on the wire, opaque to the JVM."""

    namespace: str
    table: str
    location: str
    mode: str
    stamp: str = ""  # of its schema, where it was built in its place

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return dict(self.__dict__)

    @staticmethod
    def from_json(json: Mapping[str, Any]) -> "Staged":
        """The inverse of `to_json`."""
        return Staged(**json)
