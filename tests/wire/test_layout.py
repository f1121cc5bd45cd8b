"""A layout survives the wire and answers what a worker asks."""

import json

import pyarrow as pa
import pytest

from keyfold.errors import TableError
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout

LAYOUT = TableLayout(
    name="db.t",
    location="/warehouse/db.db/t",
    schema_id=3,
    columns=(
        Column(0, "p", paimon_types.from_paimon("STRING NOT NULL")),
        Column(1, "k", paimon_types.from_paimon("BIGINT NOT NULL"), "the key"),
        Column(
            5, "v", paimon_types.from_paimon({"type": "ARRAY", "element": "INT"}), None, "array(1)"
        ),
    ),
    primary_key=("p", "k"),
    partition_keys=("p",),
    options={"bucket": "2"},
    comment="a table",
    identity="17-4",
)


def test_json_round_trip() -> None:
    assert TableLayout.from_json(json.loads(json.dumps(LAYOUT.to_json()))) == LAYOUT


def test_the_key_leaves_partition_columns_out() -> None:
    assert LAYOUT.key == ("k",)


def test_arrow_schema() -> None:
    assert LAYOUT.arrow_schema == pa.schema(
        [
            pa.field("p", pa.utf8(), False),
            pa.field("k", pa.int64(), False),
            pa.field("v", pa.list_(pa.field("element", pa.int32()))),
        ]
    )


def test_columns_by_name() -> None:
    assert LAYOUT.column("k").comment == "the key"
    assert LAYOUT.has_column("v")
    assert not LAYOUT.has_column("V")
    with pytest.raises(TableError, match=r"table db\.t has no column x; it has p, k, v"):
        LAYOUT.column("x")
