"""CREATE TABLE as Spark has parsed it: what becomes a table, and what is refused by name."""

import re
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.storage.schema.statement import new_table

KEY = {"primary_key": [["k"]]}


def said(**changed: Any) -> dict[str, Any]:
    """The question of a table of two columns, with a key."""
    plain = {"columns": [{"name": "k"}, {"name": "v"}], "partitioning": [], "constraints": [KEY]}
    return plain | {"properties": {}} | changed


def transform(name: str, *path: str) -> dict[str, Any]:
    return {"transform": name, "columns": [[*path]], "text": f"{name}({'.'.join(path)})"}


def test_takes_columns_key_partitioning_and_properties() -> None:
    made = new_table("t", said(partitioning=[transform("identity", "k")], properties={"a": "1"}))
    assert (made.primary_key, made.partitioning, made.properties) == (("k",), ("k",), {"a": "1"})
    assert not made.keeps


def test_takes_options_of_a_table_like_it() -> None:
    like = {"location": "/x", "primary-key": "v", "merge-engine": "aggregation", "bucket": "2"}
    made = new_table("t", said(like=like, properties={"bucket": "4"}))
    assert made.properties == {"merge-engine": "aggregation", "bucket": "4"}


SAVED = {"provider": "keyfold", "bucket": "2", "option.bucket": "2", "owner": "me"}


@pytest.mark.parametrize(
    ("changed", "keeps"),
    [
        ({"properties": SAVED, "constraints": []}, True),
        ({"properties": SAVED}, False),
        ({"properties": {"bucket": "2", "option.bucket": "2"}, "constraints": []}, False),
        ({"properties": SAVED | {"comment": "c"}, "constraints": []}, True),
        ({"properties": {"provider": "keyfold", "bucket": "2"}, "constraints": []}, False),
    ],
)
def test_knows_what_is_saved_by_its_options(changed: dict[str, Any], keeps: bool) -> None:
    assert new_table("t", said(**changed)).keeps is keeps


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"properties": {"provider": "orc"}}, "table t is declared USING orc"),
        ({"properties": {"option.serde": "x"}}, "ROW FORMAT and STORED AS (option.serde)"),
        ({"properties": {"hive.output-format": "x"}}, "STORED AS (hive.output-format)"),
        ({"partitioning": [transform("bucket", "k")]}, "CLUSTERED BY is not supported"),
        ({"partitioning": [transform("sorted_bucket", "k")]}, "CLUSTERED BY is not supported"),
        ({"partitioning": [transform("cluster_by", "k")]}, "CLUSTER BY is not supported"),
        ({"partitioning": [transform("years", "k")]}, "partitioned by years(k); PARTITIONED BY"),
        ({"partitioning": [transform("identity", "k", "a")]}, "table t names the field k.a in"),
        ({"constraints": [{"text": "UNIQUE (v)"}]}, "table t has the constraint UNIQUE (v)"),
        ({"constraints": [{"primary_key": [["k", "a"]]}]}, "names the field k.a in its key"),
    ],
)
def test_refuses_what_no_table_has(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(TableError, match=re.escape(words)):
        new_table("t", said(**changed))
