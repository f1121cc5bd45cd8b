"""Options that do not go with keys which are one across partitions: primary keys that lack a
partition column.
"""

from __future__ import annotations

from keyfold.errors import NotSupportedError
from keyfold.options.changelogs import INPUT
from keyfold.options.declared import TableOptions
from keyfold.options.engines import engines
from keyfold.wire.layout import TableLayout


def check_spanning_keys(layout: TableLayout, options: TableOptions) -> None:
    """Raises NotSupportedError, naming the option, if a table with such keys can't be written."""
    if not layout.spans_partitions:
        return
    found = layout.options
    ignores = options.ignore_delete or options.delete_behavior in ("ignore", "disable")
    own = options.engine.is_default or options.engine.folds_columns or options.engine.keeps_oldest
    known = own and options.engine.name in engines() and options.version_column is None
    refused = (
        (options.bucket != -1, "bucket", str(options.bucket), "-1"),
        (not known, "merge-engine", options.engine.name, "one of Paimon's"),
        (bool(options.sequence_fields), "sequence.field", found.get("sequence.field"), "none"),
        (
            ignores and options.engine.is_default,
            "ignore-delete" if options.ignore_delete else "table.delete.behavior",
            "true" if options.ignore_delete else options.delete_behavior,
            "deletes that are heeded, as a row that moves is deleted in its old partition",
        ),
        (options.partial_insert, "keyfold.partial-insert", "true", "false"),
        (bool(options.id_columns), "auto-increment.fields", ",".join(options.id_columns), "none"),
        (options.changelog_producer == INPUT, "changelog-producer", INPUT, "another one"),
    )
    for is_refused, name, value, expected in refused:
        if is_refused:
            missing = [name for name in layout.partition_keys if name not in layout.primary_key]
            raise NotSupportedError(
                f"table {layout.name} can't be written here: its primary key "
                f"({', '.join(layout.primary_key)}) lacks partition column {', '.join(missing)}, "
                f"so that keys are one across partitions, and its option {name} is '{value}'; "
                f"expected {expected}"
            )
