"""Options: parsed values, translated names, and what is refused with which words."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.merge.engines.aggregation import REMOVES
from keyfold.options.checks import check_change, check_create
from keyfold.options.declared import TableOptions, known
from keyfold.options.names import TUNING, normalize, without_effect
from keyfold.options.option import Option
from keyfold.options.paimon import PAIMON_OPTIONS
from keyfold.options.parsing import parse
from keyfold.options.values import byte_size, duration
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout

COLUMNS = tuple(
    Column(n, name, paimon_types.from_paimon(kind))
    for n, (name, kind) in enumerate(
        {"p": "INT NOT NULL", "k": "BIGINT NOT NULL", "v": "BIGINT", "s": "STRING"}.items()
    )
)
BASE = TableLayout("db.t", "/x", 0, COLUMNS, ("p", "k"), ("p",), {"bucket": "2"})


def layout(**named: str) -> TableLayout:
    return replace(BASE, options={**BASE.options, **named})


def test_defaults() -> None:
    found = parse(BASE)
    assert found.merge_engine == "deduplicate"
    assert (found.bucket, found.bucket_key) == (2, ("k",))
    assert found.sequence_fields == ()
    assert found.target_file_size == 128 << 20
    assert found.write_buffer_size == 256 << 20
    assert (found.file_compression, found.zstd_level) == ("zstd", 1)
    assert found.commit_max_retries is None
    assert found.commit_min_retry_wait == 0.01
    assert found.field_options("v") == {}


@pytest.mark.parametrize(
    ("name", "text", "attribute", "value"),
    [
        ("merge-engine", "aggregation", "merge_engine", "aggregation"),
        ("merge-engine", "Partial-Update", "merge_engine", "partial-update"),
        ("table.merge-engine", "aggregation", "merge_engine", "aggregation"),
        ("bucket-key", "k", "bucket_key", ("k",)),
        ("sequence.field", "v, s", "sequence_fields", ("v", "s")),
        ("sequence.field.sort-order", "DESCENDING", "sequence_descending", True),
        ("rowkind.field", "s", "rowkind_field", "s"),
        ("keyfold.rowkind.map", "c=+I,==-d", "rowkind_map", {"c": "+I", "=": "-D"}),
        ("ignore-delete", "TRUE", "ignore_delete", True),
        ("first-row.ignore-delete", "true", "ignore_delete", True),
        ("deduplicate.ignore-delete", "true", "ignore_delete", True),
        ("partial-update.ignore-delete", "true", "ignore_delete", True),
        ("target-file-size", "64kb", "target_file_size", 64 << 10),
        ("num-levels", "3", "levels", 3),
        ("compaction.small-file-ratio", "0.5", "compaction_small_file_ratio", 0.5),
        ("compaction.optimization-interval", "1 h", "compaction_interval", 3600.0),
        ("data-file.thin-mode", "true", "thin_files", True),
        ("manifest.full-compaction-threshold", "1 mb", "manifest_full_compaction_size", 1 << 20),
        ("commit.timeout", "2 min", "commit_timeout", 120.0),
        ("fields.default-aggregate-function", "sum", "default_aggregate", "sum"),
    ],
)
def test_parsed(name: str, text: str, attribute: str, value: Any) -> None:
    stored = normalize({name: text})
    found = layout(**stored)
    check_create(found)
    assert getattr(parse(found), attribute) == value


def test_snapshot_ordering_has_conditions() -> None:
    ordered = {"sequence.snapshot-ordering": "true", "write-only": "true"}
    check_create(layout(**ordered))
    with pytest.raises(TableError, match="= true is mutually exclusive with sequence"):
        check_create(layout(**ordered, **{"sequence.field": "v"}))
    with pytest.raises(TableError, match="= true requires write-only = true"):
        check_create(layout(**{"sequence.snapshot-ordering": "true"}))
    with pytest.raises(TableError, match="= true requires write-only = true"):
        check_change(layout(**ordered), layout(**(ordered | {"write-only": "false"})))


def test_field_options() -> None:
    stored = normalize({"fields.v.agg": "sum", "fields.v.ignore-retract": "true"})
    assert stored["fields.v.aggregate-function"] == "sum"
    found = parse(layout(**stored))
    assert found.field_options("v") == {"aggregate-function": "sum", "ignore-retract": "true"}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("128 mb", 128 << 20),
        ("128MB", 128 << 20),
        ("64kb", 64 << 10),
        ("64 k", 64 << 10),
        ("1 g", 1 << 30),
        ("1048576", 1 << 20),
        ("10 bytes", 10),
    ],
)
def test_byte_sizes(text: str, size: int) -> None:
    assert byte_size(text) == size


@pytest.mark.parametrize("text", ["", "mb", "-1 mb", "1.5 gb", "12 xb", "0"])
def test_no_byte_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as 128 mb"):
        byte_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10 ms", 0.01), ("30s", 30), ("5 min", 300), ("1 h", 3600), ("250", 0.25)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


def test_what_spark_adds_is_taken_out() -> None:
    added = {"owner": "me", "provider": "x", "option.path": "/x", "comment": "c", "external": "1"}
    assert normalize({**added, "bucket": "3"}) == {"bucket": "3"}


def test_one_option_twice() -> None:
    same = {"bucket": "4", "bucket.num": "4"}
    assert normalize(same) == {"bucket": "4"}
    with pytest.raises(TableError, match="bucket is given twice: '5' and '4'"):
        normalize({**same, "bucket": "5"})
    engines = {"table.merge-engine": "aggregation", "merge-engine": "deduplicate"}
    with pytest.raises(TableError, match="merge-engine is given twice"):
        normalize(engines)


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("merge-engin", "x", TableError, "unknown; did you mean merge-engine?"),
        ("target-filesize", "1 mb", TableError, "unknown; did you mean target-file-size?"),
        ("zzzz", "1", TableError, "names that begin with keyfold.tag. are free"),
        ("keyfold.bogus", "1", TableError, "is unknown"),
        ("scan.mode", "latest", NotSupportedError, "known to Paimon but not supported here"),
        (
            "compaction.offpeak-ratio",
            "3",
            NotSupportedError,
            "known to Paimon but not supported here",
        ),
        ("file.format", "orc", NotSupportedError, "expected parquet, found 'orc'"),
        ("changelog-producer", "log", TableError, "expected none or input or lookup or full-comp"),
        ("changelog-producer.row-deduplicate", "false", TableError, "or full-compaction, found"),
        ("changelog-producer.compaction-interval", "1 h", TableError, "found 'none'"),
        ("changelog-file.format", "avro", NotSupportedError, "expected parquet, found 'avro'"),
        ("changelog-file.stats-mode", "none", NotSupportedError, "expected truncate(16)"),
        ("changelog-file.prefix", "../c-", TableError, "expected letters, digits"),
        ("changelog-producer.row-deduplicate-ignore-fields", "nope", TableError, "'nope' can not"),
        ("changelog-producer.row-deduplicate-ignore-fields", "v", TableError, "found 'none'"),
        ("full-compaction.delta-commits", "2", TableError, "= full-compaction, found 'none'"),
        ("lookup-wait", "false", TableError, "needs changelog-producer = lookup,"),
        ("changelog.time-retained", "2 d", TableError, "changelog-producer = none makes no change"),
        ("deletion-vectors.enabled", "yes", TableError, "expected true or false, found 'yes'"),
        ("compaction.small-file-ratio", "1.5", TableError, "expected a number from 0 to 1"),
        ("num-levels", "1", TableError, "expected a whole number from 2 to 100"),
        (
            "bucket",
            "0",
            NotSupportedError,
            "expected a number from 1, -1 for dynamic buckets, or -2 for postponed ones, found '0'",
        ),
        ("bucket", "-3", NotSupportedError, "found '-3'"),
        ("bucket", "-20", NotSupportedError, "found '-20'"),
        ("bucket", "many", TableError, "expected a whole number from 1"),
        ("write-only", "maybe", TableError, "expected true or false, found 'maybe'"),
        ("sequence.field", "nope", TableError, "Sequence field: 'nope' can not be found"),
        ("sequence.field", "v,v", TableError, "Sequence field 'v' is defined repeatedly"),
        ("sequence.field", "v,,s", TableError, "column names separated by commas"),
        ("rowkind.field", "v", TableError, "column v must be a STRING, it is BIGINT"),
        ("bucket-key", "v", TableError, "v is not in the primary key"),
        ("bucket-key", "p", TableError, "p is not in the primary key"),
        ("fields.zzz.ignore-retract", "true", TableError, "Field zzz can not be found in table"),
        ("fields.k.pk-x.index.options", "a", NotSupportedError, "column k has no fields"),
    ],
)
def test_refused(name: str, text: str, kind: type[KeyfoldError], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        check_create(layout(**{name: text}))
    assert "db.t" in str(caught.value)


def test_what_tunes_another_system_is_taken_and_noted() -> None:
    named = {"lookup.cache-max-disk-size": "1 gb", "table.log.tiered.local-segments": "2"}
    check_create(layout(**named))
    assert without_effect("t", [*named, "bucket"]) == (
        "NOTE: table t: options without effect here, which are stored: "
        "lookup.cache-max-disk-size (Paimon); table.log.tiered.local-segments (Fluss)"
    )
    assert without_effect("t", ["bucket", "scan.mode"]) is None
    for names in TUNING.values():
        assert names.isdisjoint(known())


def test_what_is_neither_honoured_nor_without_effect_is_refused() -> None:
    refused = sorted(PAIMON_OPTIONS - TUNING["Paimon"] - {*known(), "primary-key"})
    assert len(refused) > 140
    for name in refused:
        with pytest.raises(NotSupportedError, match="is known to Paimon but not supported here"):
            check_create(layout(**{name: "true"}))


def test_a_sequence_field_has_no_aggregate() -> None:
    named = {"sequence.field": "v", "fields.v.aggregate-function": "sum"}
    with pytest.raises(TableError, match=r"Should not define aggregation on sequence field: 'v'"):
        check_create(layout(**named))


def test_a_key_across_partitions_and_a_sequence_field() -> None:
    across = replace(layout(**{"sequence.field": "v", "bucket": "-1"}), primary_key=("k",))
    with pytest.raises(TableError, match=r"not use sequence\.field in cross partition.*'\['p'\]'"):
        check_create(across)


def test_tags_are_free() -> None:
    check_create(layout(**{"keyfold.tag.team": "x", "keyfold.default.v": "1 + 1"}))


def test_other_engines_options_are_passed_over() -> None:
    assert parse(layout(bogus="1", bucket="-1")).bucket == -1
    assert parse(replace(BASE, options={})).bucket == -1


def test_every_option_is_read_somewhere() -> None:
    """By its attribute, or by its name where only its text is looked at."""
    package = Path(keyfold.__file__).parent
    sources = [path for path in package.rglob("*.py") if path.name != "declared.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    attributes = {n for n, v in vars(TableOptions).items() if isinstance(v, Option)}
    assert {name for name in attributes if not re.search(rf"\.{name}\b", text)} == set()


def test_an_option_of_an_engine_is_parsed_for_every_table() -> None:
    stored = {"aggregation.remove-record-on-delete": "true"}
    check_create(layout(**stored))
    assert parse(layout(**stored))[REMOVES] is True
    assert parse(BASE)[REMOVES] is False


def test_declarations() -> None:
    names = list(known())
    assert all(option.doc.endswith(".") for option in known().values())
    foreign = {name for name in names if name not in PAIMON_OPTIONS}
    own = ("keyfold.", "table.", "auto-increment.", "lookup.insert")  # keyfold's and Fluss'
    own += ("file-index.bloom-filter.",)  # Paimon makes its name of the index and "columns"
    assert {name for name in foreign if not name.startswith(own)} == set()


@pytest.mark.parametrize("text", ["9" * 40, "9" * 40 + " gb", "9" * 5000, "9" * 40 + " d"])
def test_numbers_without_end_are_refused(text: str) -> None:
    for parse_number in (byte_size, duration):
        with pytest.raises(ValueError, match=r"a size|a duration"):
            parse_number(text)
