"""The seam to pypaimon: every name of it that keyfold uses stands in `USED`, and nowhere else.

None of these is public API. A missing one is reported by name, with the version that was tested.
"""

import importlib
import importlib.metadata
from typing import Any

from keyfold.errors import EnvironmentMismatchError

TESTED = "2.1.0"

USED: dict[str, tuple[str, str]] = {
    "FileIO": ("pypaimon.common.file_io", "FileIO"),
    "Options": ("pypaimon.common.options", "Options"),
    "Json": ("pypaimon.common.json_util", "JSON"),
    "Snapshot": ("pypaimon.snapshot.snapshot", "Snapshot"),
    "BATCH_COMMIT_IDENTIFIER": ("pypaimon.snapshot.snapshot", "BATCH_COMMIT_IDENTIFIER"),
    "RESTApi": ("pypaimon.api.rest_api", "RESTApi"),
    "Identifier": ("pypaimon.common.identifier", "Identifier"),
    "Schema": ("pypaimon.schema.schema", "Schema"),
    "MANIFEST_ENTRY_SCHEMA": (
        "pypaimon.manifest.schema.manifest_entry",
        "MANIFEST_ENTRY_SCHEMA",
    ),
    "MANIFEST_LIST_SCHEMA": (
        "pypaimon.manifest.schema.manifest_file_meta",
        "MANIFEST_FILE_META_SCHEMA",
    ),
}


def resolve(name: str) -> Any:
    """The pypaimon object behind one name of `USED`."""
    module, attribute = USED[name]
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise EnvironmentMismatchError(
            f"pypaimon {_version()} lacks {module}.{attribute}, which keyfold needs; "
            f"install pypaimon=={TESTED}"
        ) from error


def _version() -> str:
    try:
        return importlib.metadata.version("pypaimon")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


FileIO: Any = resolve("FileIO")
Options: Any = resolve("Options")
Json: Any = resolve("Json")
Snapshot: Any = resolve("Snapshot")
BATCH_COMMIT_IDENTIFIER: int = resolve("BATCH_COMMIT_IDENTIFIER")
MANIFEST_ENTRY_SCHEMA: dict[str, Any] = resolve("MANIFEST_ENTRY_SCHEMA")
MANIFEST_LIST_SCHEMA: dict[str, Any] = resolve("MANIFEST_LIST_SCHEMA")
