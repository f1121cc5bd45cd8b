"""Options that apply to a single call: those of the table, and those of the call itself."""

from collections.abc import Mapping
from dataclasses import replace

from keyfold.errors import NotSupportedError, TableError
from keyfold.merge.plan import check
from keyfold.options.calls import READ, Call, split
from keyfold.options.checks import check_option
from keyfold.options.declared import TableOptions
from keyfold.options.names import may_differ, normalize
from keyfold.options.paimon import OPTIONS_OF_VERSIONS, OTHER_ROWS
from keyfold.options.values import shown
from keyfold.storage.schema.save_as_table import check_given
from keyfold.storage.support import LATEST
from keyfold.storage.table import Table
from keyfold.wire.layout import TableLayout

_EVERY_LEVEL = {TableOptions.vectors_merge_on_read.name: "true"}
_SPARKS = ("versionasof", "timestampasof")
_MODES_OF_PAST = ("from-snapshot", "from-snapshot-full", "from-timestamp")  # another option says it


def with_options(table: Table, given: Mapping[str, str] | None) -> Table:
    """The table as if it had these options, which are checked; the stored table does not change.

    Raises TableError if an option decides what the rows are and the table has another value: rows
    already merged by the table's rules stay so.
    """
    layout, stored = table.layout, normalize(given or {})
    for name, text in stored.items():
        check_option(layout, name, text)
        if not may_differ(name, text, layout.options):
            raise TableError(
                f"option {name} of table {layout.name}: it decides what the table's rows are and "
                f"can't be given for one call; the table has "
                f"{layout.options.get(name, 'none')}, found '{shown(text)}'; ALTER "
                "TABLE sets options, in Python table.alter"
            )
    return replace(table, layout=replace(layout, options={**layout.options, **stored}))


def as_changed(table: Table) -> Table:
    """The table as jobs read it that write by what they read: with the rows of level 0, also where
    queries leave these out until a compaction has seen them.
    """
    return with_options(table, _EVERY_LEVEL) if table.options.has_vectors else table


def call_options(call: Call, table: Table, given: Mapping[str, str] | None) -> dict[str, str]:
    """The options given for one read or write, by their names in `options.calls`. Raises TableError
    if an option is unknown, or is one of the table's and has another value there.
    """
    own, of_table = split(
        call, table.layout.name, given or {}, table.layout.options.get("merge-engine")
    )
    check_given(table.layout, of_table, (), check)
    return own


def scan_options(
    table: Table, given: Mapping[str, str] | None, *, is_past: bool = False
) -> dict[str, str]:
    """The options of a scan of the table, by their names in `options.calls`. Raises
    NotSupportedError if the table can't be read, or an option asks for other rows than those of its
    snapshot; `is_past`: Spark has loaded it by such options.
    """
    check_asked(table.layout, given or {}, is_past=is_past)
    asked = call_options(READ, table, given)
    table.check_format()
    return asked


def check_asked(layout: TableLayout, options: Mapping[str, str], *, is_past: bool = False) -> None:
    """Raises NotSupportedError if an option of a reader asks for other rows than those of the
    snapshot that the table was loaded at. The error names the option. A table of the past was
    loaded by Spark's own options.
    """
    modes = (*LATEST, *_MODES_OF_PAST) if is_past else LATEST
    for name, text in options.items():
        low = name.lower()
        asks_more = low == "scan.mode" and text.lower() not in modes
        if low in OTHER_ROWS or asks_more or (low in _SPARKS and not is_past):
            hint = (
                "start Spark with the session extension keyfold.spark.KeyfoldExtensions, or say "
                "VERSION AS OF, TIMESTAMP AS OF; in Python table.scan(snapshot=…)"
                if low in OPTIONS_OF_VERSIONS
                else "the newest snapshot is read"
            )
            raise NotSupportedError(
                f"reading table {layout.name}: option {name} = '{text}' is not supported: {hint}"
            )
