"""Checks that refuse, before a row is touched, what we can't honour of another engine's table.

The errors name it.
"""

from collections.abc import Iterable

from keyfold.errors import NotSupportedError
from keyfold.files import other_formats
from keyfold.options.checks import check_postponed
from keyfold.options.declared import TAG_CREATION_ELSEWHERE, VECTORS, known
from keyfold.options.paimon import NEEDED_TO_READ, NEEDED_TO_WRITE
from keyfold.options.parsing import parse
from keyfold.options.spanning_keys import check_spanning_keys
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.snapshot_files import live_of_snapshot
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.metadata.vectors import vectors_of
from keyfold.storage.schema.cut_columns import check_cut_readable, check_cut_writable
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import FILE_SUFFIX, MARKED_SUFFIX

FORMATS = ("parquet", "orc", "avro")  # of data files that are read
SUFFIXES = (FILE_SUFFIX, MARKED_SUFFIX, *other_formats.SUFFIXES)

LATEST = ("default", "latest", "latest-full", "full")
_DYNAMIC = "-1"
_WITHOUT_NUMBER = (_DYNAMIC, "-2")  # dynamic buckets, and postponed ones


def check_readable(layout: TableLayout) -> None:
    """Raises NotSupportedError, naming the cause, if we can't read the table rightly.

    Another engine may assign the buckets of keys (`bucket` = -1, Paimon's default). Each key is in
    one bucket all the same, and its rows merge there.
    """
    _check(layout, NEEDED_TO_READ, "read")
    bucket = layout.options.get("bucket", _DYNAMIC).strip()
    if layout.primary_key and bucket not in _WITHOUT_NUMBER and parse(layout).bucket < 1:
        raise _refused(layout, "bucket", bucket, "read", "-2 or more, but not 0")
    kind = layout.options.get("file.format", FORMATS[0])
    if kind.lower() not in FORMATS:
        raise _refused(layout, "file.format", kind, "read", " or ".join(FORMATS))
    mode = layout.options.get("scan.mode", "default")
    if mode.lower() not in LATEST:
        raise _refused(layout, "scan.mode", mode, "read", " or ".join(LATEST))
    check_cut_readable(layout)


def check_writable(layout: TableLayout, *, rows: bool = False) -> None:
    """Raises NotSupportedError, naming the cause, if we can't write the table rightly; with `rows`
    also if we can't write or merge its rows, which what only drops files or snapshots need not ask.
    """
    if not layout.primary_key:
        raise NotSupportedError(
            f"table {layout.name} has no primary key: append-only tables are read here, and "
            "written by the engine that made them"
        )
    _check(layout, NEEDED_TO_WRITE, "written")
    if rows:
        check_cut_writable(layout)
    options = parse(layout)
    check_spanning_keys(layout, options)
    check_postponed(layout, options)
    if options.tag_creation in TAG_CREATION_ELSEWHERE:
        expected = "none or process-time"
        raise _refused(layout, "tag.automatic-creation", options.tag_creation, "written", expected)
    bucket = layout.options.get("bucket", _DYNAMIC).strip()
    if options.is_dynamic and bucket != _DYNAMIC:
        raise _refused(layout, "bucket", bucket, "written", "-2 or more, but not 0")


def _check(layout: TableLayout, elsewhere: dict[str, str | None], verb: str) -> None:
    """Raises NotSupportedError if an option's value keeps us from reading or writing the table."""
    required = {
        option.name: option.default
        for option in known().values()
        if option.required_to == "read or write" or (option.required_to and verb == "written")
    }
    for name, expected in (required | elsewhere).items():
        found = layout.options.get(name, expected)
        if found is not None and (expected is None or found.lower() != expected):
            raise _refused(layout, name, found, verb, expected or "no such option")


def _refused(
    layout: TableLayout, name: str, found: str, verb: str, expected: str
) -> NotSupportedError:
    return NotSupportedError(
        f"table {layout.name} can't be {verb} here: its option {name} is '{found}', "
        f"expected {expected}"
    )


def check_unmarked(layout: TableLayout, manifests: Manifests, snapshot: Snapshot) -> None:
    """Raises NotSupportedError if deletion vectors mark rows of files of a snapshot though the
    table's option does not say so any more: a file that is written anew would need a new one.
    """
    if parse(layout).has_vectors or not vectors_of(manifests, snapshot):
        return
    if any(file.vector for file in live_of_snapshot(manifests, snapshot).files()):
        raise NotSupportedError(
            f"table {layout.name} holds deletion vectors, though its option {VECTORS} is false: "
            "its files can't be written anew here"
        )


def check_files(layout: TableLayout, live: Iterable[LiveFile]) -> None:
    """Raises NotSupportedError if a file's format, source or place keeps us from reading it. Only
    the files show these.
    """
    is_ordered = parse(layout).snapshot_ordering
    for file in live:
        if not file.name.endswith(SUFFIXES):
            raise NotSupportedError(
                f"table {layout.name}: data file {file.name} is not Parquet, ORC or Avro: "
                "it can't be read here"
            )
        if is_ordered and file.source is None:
            raise NotSupportedError(
                f"table {layout.name}: data file {file.name} does not say whether it was appended "
                "or compacted, so it can't be ordered by snapshot: sequence.snapshot-ordering was "
                "set after it was written"
            )
        if file.external_path is not None:
            raise NotSupportedError(
                f"table {layout.name}: data file {file.name} lies outside the table "
                f"({file.external_path}): it can't be read here"
            )
