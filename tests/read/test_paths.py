"""Partition directories equal pypaimon's canonical ones, which are Java's."""

import datetime
from decimal import Decimal
from typing import Any

import pytest
from pypaimon.schema.data_types import AtomicType
from pypaimon.utils.file_store_path_factory import FileStorePathFactory

from keyfold import types
from keyfold.layout import Column, TableLayout
from keyfold.read.paths import partition_parts

STAMP = datetime.datetime(2024, 1, 2, 3, 4, 0, 0)
VALUES: tuple[tuple[str, Any], ...] = (
    ("STRING", "a b"),
    ("STRING", "a/b=c:%\"'#*?\\{}[]^\x01\x7f"),
    ("STRING", "\u4e2d"),
    ("STRING", ""),
    ("STRING", " \t"),
    ("STRING", None),
    ("INT", -5),
    ("BIGINT", 2**62),
    ("BOOLEAN", True),
    ("DATE", datetime.date(2024, 1, 2)),
    ("DECIMAL(12, 9)", Decimal("0.000000100")),
    ("TIMESTAMP(6)", STAMP),
    ("TIMESTAMP(6)", STAMP.replace(second=5)),
    ("TIMESTAMP(6)", STAMP.replace(microsecond=5000)),
    ("TIMESTAMP(6)", STAMP.replace(microsecond=5)),
    ("DOUBLE", 1.5),
    ("DOUBLE", 1e20),
    ("DOUBLE", -1.25e-7),
    ("DOUBLE", 0.001),
    ("FLOAT", 0.1),
    ("FLOAT", 12345678.0),
)


@pytest.mark.parametrize("is_legacy", [True, False])
@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_directory(kind: str, value: Any, is_legacy: bool) -> None:
    column = Column(0, "p:q", types.from_paimon(kind))
    options = {"partition.legacy-name": str(is_legacy).lower()}
    layout = TableLayout("db.t", "/t", 0, (column,), ("p:q",), ("p:q",), options)
    default = "__DEFAULT_PARTITION__"
    factory = FileStorePathFactory(
        "/t", ["p:q"], default, "parquet", "data-", "changelog-", is_legacy, False, "zstd",
        partition_types=[AtomicType(kind)],
    )  # fmt: skip
    expected = factory.bucket_path((value,), 3, canonical_partition=True)
    assert "/".join(["/t", *partition_parts(layout, [value]), "bucket-3"]) == expected
