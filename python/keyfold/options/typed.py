"""Table options, parsed once into a frozen `TableOptions`; unknown names, which tables of other
engines have, are passed over.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from keyfold.errors import TableError
from keyfold.options.declared import OPTIONS, Option
from keyfold.options.names import FIELD, normalize
from keyfold.wire.layout import TableLayout

# Engines under which an INSERT of some columns leaves the others alone.
FOLDING = ("partial-update", "aggregation")
# Engines whose result is one of the records as it came, so that order is told by numbers alone.
FIRST_ROW = "first-row"
KEEPING = ("deduplicate", FIRST_ROW)


@dataclass(frozen=True)
class TableOptions:
    """The options of one table; sizes are bytes, durations seconds. `bucket` is -1 if dynamic."""

    merge_engine: str
    bucket: int
    bucket_key: tuple[str, ...]
    key_nullable: bool
    sequence_fields: tuple[str, ...]
    sequence_descending: bool
    snapshot_ordering: bool
    rowkind_field: str | None
    ignore_delete: bool
    ignore_update_before: bool
    remove_record_on_delete: bool
    partial_remove_on_delete: bool
    remove_on_sequence_group: tuple[str, ...]
    delete_behavior: str | None
    version_column: str | None
    changelog_image: str
    default_aggregate: str | None
    target_file_size: int
    file_compression: str
    zstd_level: int
    row_group_rows: int
    sync_files: bool
    verify_files: bool
    write_buffer_size: int
    thin_files: bool
    write_only: bool
    compaction_trigger: int
    compaction_stop_trigger: int | None
    levels: int | None
    compaction_size_ratio: int
    compaction_max_amplification: int
    compaction_small_file_ratio: float
    compaction_interval: float | None
    compaction_total_size: int | None
    compaction_incremental_size: int | None
    compaction_write_budget: int
    split_target_size: int
    split_open_file_cost: int
    manifest_target_file_size: int
    manifest_merge_min_count: int
    manifest_full_compaction_size: int
    commit_max_retries: int
    commit_timeout: float
    commit_min_retry_wait: float
    commit_max_retry_wait: float
    snapshots_at_least: int
    snapshots_at_most: int
    snapshot_seconds: float
    snapshot_expire_limit: int
    snapshot_expire_mode: str
    by_field: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def field_options(self, column: str) -> Mapping[str, str]:
        """What stands behind `fields.<column>.`: suffix -> text."""
        return self.by_field.get(column, {})


def parse(layout: TableLayout) -> TableOptions:
    """Typed options of a table; TableError for a value that doesn't parse."""
    stored = normalize(layout.options)
    values: dict[str, Any] = {}
    for option in OPTIONS:
        text = stored.get(option.name, option.default)
        if option.attribute is not None:
            values[option.attribute] = None if text is None else _parsed(option, text, layout.name)
    values["bucket"] = values["bucket"] or -1
    values["bucket_key"] = values["bucket_key"] or layout.key
    values["sequence_fields"] = values["sequence_fields"] or ()
    values["remove_on_sequence_group"] = values["remove_on_sequence_group"] or ()
    values["sequence_descending"] = values.pop("sequence_order") == "descending"
    return TableOptions(**values, by_field=_by_field(stored))


def _parsed(option: Option, text: str, table: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as error:
        if option.name == "bucket" and re.fullmatch(r"-\d+", text):
            return -1
        raise TableError(
            f"option {option.name} of table {table}: expected {error}, found '{text}'"
        ) from None


def _by_field(stored: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in stored.items():
        match = FIELD.match(name)
        if match is not None:
            found.setdefault(match[1], {})[match[2]] = text
    return found


_ATTRIBUTES = {option.attribute for option in OPTIONS if option.attribute} - {"sequence_order"}
assert {f.name for f in fields(TableOptions)} == _ATTRIBUTES | {"sequence_descending", "by_field"}
