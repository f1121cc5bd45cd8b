"""ALTER TABLE as Spark's pipelines ask for it: a table is defined once more at each run."""

from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import KeyfoldError
from keyfold.storage.schema.definition import NewTable
from tests.storage import tables
from tests.storage.schema.test_alter import add, alter, null, put
from tests.storage.tables import column

CDC_KEYS = "pipelines.autocdc.keyColumnNames"
METADATA = "__spark_autocdc_metadata"


def versions(kind: Any) -> dict[str, Any]:
    """The column by which Spark tells rows of a flow apart."""
    field = {"name": "__RECORD_START_AT", "type": kind, "nullable": True, "metadata": {}}
    return column(METADATA, {"type": "struct", "fields": [field]})


def test_the_tables_of_flows_are_keyed(tmp_path: Path) -> None:
    """Under type 2 by a field of a struct as well, which is stored once more; Spark sees the
    struct, which is NOT NULL, in its place.
    """
    flow = {CDC_KEYS: '["k"]', "pipelines.autocdc.scdType": "SCD1"}
    columns = (column("k"), column("v"), versions("long"))
    assert tables.table(tmp_path, NewTable(columns, properties=flow)).layout.primary_key == ("k",)
    flow["pipelines.autocdc.scdType"] = "SCD2"
    found = tables.table(tmp_path / "other", NewTable(columns, properties=flow))
    assert found.layout.primary_key == ("k", "__RECORD_START_AT")
    assert found.options.bucket_key == ("k",)
    seen = found.describe()
    assert seen["primary_key"] == ["k", METADATA]
    shown = {one["name"]: one["nullable"] for one in seen["columns"]}
    assert shown == {"k": False, "v": True, METADATA: False}
    again = [null(METADATA, True) | {"is_statement": False}, put(CDC_KEYS, '["k"]')]
    assert alter(found, *again, add("x")).layout.has_column("x")
    with pytest.raises(KeyfoldError, match="can't be changed: a full refresh"):
        alter(found, put(CDC_KEYS, '["v"]'))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ((column("k"),), f"{METADATA} should be a struct with the field __RECORD_START_AT"),
        (
            (column("k"), versions({"type": "array", "elementType": "long", "containsNull": True})),
            r"its type must be atomic, it is ARRAY; set sequence_by",
        ),
    ],
)
def test_versions_that_nothing_tells_apart_are_refused(
    tmp_path: Path, made: tuple[Any, ...], why: str
) -> None:
    flow = {CDC_KEYS: '["k"]', "pipelines.autocdc.scdType": "SCD2"}
    with pytest.raises(KeyfoldError, match=why):
        tables.table(tmp_path, NewTable(made, properties=flow))


def test_versions_of_a_key_lie_together(tmp_path: Path) -> None:
    """In the target of a flow of type 2, unless its options say otherwise."""
    columns = (column("k"), column("__START_AT"), versions("long"))
    key = {"primary-key": "k,__START_AT"}
    one = tables.table(tmp_path, NewTable(columns, properties=key))
    assert one.options.bucket_key == ("k",)
    own = key | {"bucket-key": "k,__START_AT"}
    assert tables.table(tmp_path / "own", NewTable(columns, properties=own)).options.bucket_key == (
        "k",
        "__START_AT",
    )
    plain = tables.table(tmp_path / "plain", NewTable(columns[:2], properties=key))
    assert plain.options.bucket_key == ("k", "__START_AT")


@pytest.mark.parametrize(
    ("partitioning", "bucket", "bucket_key"),
    [
        (("p",), "2", ("k",)),
        (("k",), "2", ("p",)),
        (("p", "k"), "2", ("__START_AT",)),
        (("p", "k", "__START_AT"), "2", None),
        ((), "-1", ("p", "k", "__START_AT")),
        (("p",), "-1", ("k", "__START_AT")),
    ],
)
def test_versions_of_a_key_in_partitions_and_dynamic_buckets(
    tmp_path: Path, partitioning: tuple[str, ...], bucket: str, bucket_key: tuple[str, ...] | None
) -> None:
    """Partition columns are no part of the bucket key; dynamic buckets have none."""
    columns = (column("p"), column("k"), column("__START_AT"), versions("long"))
    properties = {"primary-key": "p,k,__START_AT", "bucket": bucket}
    new = NewTable(columns, partitioning, properties=properties)
    if bucket_key is None:
        with pytest.raises(KeyfoldError, match="the primary key holds only partition columns"):
            tables.table(tmp_path, new)
    else:
        assert tables.table(tmp_path, new).options.bucket_key == bucket_key


@pytest.mark.parametrize("key", [("primary-key", "k , v"), (CDC_KEYS, '["k", "v"]')])
def test_a_table_that_a_pipeline_defines_again(tmp_path: Path, key: tuple[str, str]) -> None:
    """It names all properties once more, and columns of the key that are NOT NULL only here. A
    statement, and a pipeline of columns that are no key, are taken at their word.
    """
    named = NewTable((column("k"), column("v"), column("w")), properties=dict([key]))
    found = tables.table(tmp_path, named)
    assert found.layout.primary_key == ("k", "v")
    said = {"is_statement": False}
    again = [
        null(["k"], True) | said,
        null("v", True) | said,
        put("provider", "keyfold"),
        put(*key),
    ]
    altered = alter(found, *again, put("pipelines.reset.allowed", "false"), add("x"))
    assert altered.layout.nullable_key == (False, False)
    assert altered.layout.options["pipelines.reset.allowed"] == "false"
    assert altered.layout.has_column("x")
    asked = alter(found, null("x", False) | said)
    assert not asked.layout.column("x").type.nullable
    for other in (put("primary-key", "k"), put(CDC_KEYS, '["k"]'), put("provider", "csv")):
        with pytest.raises(KeyfoldError, match="can't be changed"):
            alter(found, null("v", True) | said, other)
    with pytest.raises(KeyfoldError, match="column v: it is part of the primary key"):
        alter(found, null("v", True) | {"is_statement": True}, put(*key))
    with pytest.raises(KeyfoldError, match="expected a JSON array of names, found 'k'"):
        alter(found, put(CDC_KEYS, "k"))
