"""What a writer says of a table that is there: the same as it has, or refused; what an overwrite
by saveAsTable keeps.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import KeyfoldError, TableError
from keyfold.merge.plan import check
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.schema.save_as_table import check_given, redefine
from keyfold.wire.layout import TableLayout
from tests.option_names import option_names
from tests.storage.tables import column, new_table

OPTIONS = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "bucket": "3"}


def made(folder: Path) -> TableLayout:
    columns = (column("K"), column("p", "string"), column("n"))
    new = new_table(*columns, key="p,K", by="p")
    whole = replace(new, properties={**OPTIONS, "comment": "what is there"})
    catalog = open_catalog("test", {"warehouse": str(folder)}, check)
    return catalog.create_table(["default"], "t", whole).layout


@pytest.mark.parametrize(
    ("properties", "partitioning"),
    [
        ({}, []),
        ({"primary-key": "p, k"}, ["P"]),
        (OPTIONS, ["p"]),
        ({"bucket.num": "3", "fields.N.aggregate-function": "SUM"}, []),
        ({"merge-engine": " aggregation ", "bucket-key": "K"}, []),
        ({"file.compression": "zstd", "owner": "me", "option.bucket": "9"}, []),
    ],
)
def test_what_the_table_has_may_be_said(
    tmp_path: Path, properties: dict[str, str], partitioning: list[str]
) -> None:
    check_given(made(tmp_path), properties, partitioning, check)


@pytest.mark.parametrize(
    ("properties", "partitioning", "words"),
    [
        ({"primary-key": "K"}, [], r"has primary-key \(p, K\), and the call says \(K\)"),
        ({}, ["K"], r"has partitioning \(p\), and the call says \(K\)"),
        ({"bucket": "4"}, [], "has bucket = 3, and the call says 4: leave it out"),
        ({"file.compression": "lz4"}, [], r"file\.compression not set, and the call says lz4"),
        ({"merge-engine": "deduplicate"}, [], "merge-engine"),
        ({"table.merge-engine": "aggregation"}, [], r"table\.delete\.behavior"),  # Fluss' drops -D
        ({"fields.n.aggregate-function": "max"}, [], "has fields.n.aggregate-function = sum"),
        ({"bukcet": "3"}, [], "did you mean bucket"),
    ],
)
def test_anything_else_is_refused(
    tmp_path: Path, properties: dict[str, str], partitioning: list[str], words: str
) -> None:
    with pytest.raises(KeyfoldError, match=words):
        check_given(made(tmp_path), properties, partitioning, check)


def saved(*names: str, by: tuple[str, ...] = (), **properties: str) -> NewTable:
    columns: tuple[Any, ...] = tuple(
        column(name, "string" if name == "p" else "long") for name in names
    )
    named = option_names(properties)
    return NewTable(columns, by, None, named, keeps=True)


def test_key_partitioning_options_and_comment_stay(tmp_path: Path) -> None:
    old = made(tmp_path)
    new = redefine(old, saved("n", "p", "k", "more"), check).layout
    assert new.primary_key == ("p", "k")
    assert new.partition_keys == ("p",)
    assert new.comment == "what is there"
    assert new.options == old.options
    assert [c.name for c in new.columns] == ["n", "p", "k", "more"]
    assert new.schema_id == 0


def test_what_is_named_is_changed(tmp_path: Path) -> None:
    new = redefine(made(tmp_path), saved("K", "p", "n", bucket="5", comment="else"), check).layout
    assert new.options["bucket"] == "5"
    assert new.options["merge-engine"] == "aggregation"
    assert new.comment == "else"


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (saved("K", "n"), r"column p.*overwriting keeps key and options: to define the table anew"),
        (saved("K", "p"), "Field n can not be found.*createOrReplace"),
        (saved("K", "p", "n", primary_key="K"), r"has primary-key \(p, K\).*createOrReplace"),
        (saved("K", "p", "n", by=("K",)), r"has partitioning \(p\).*createOrReplace"),
    ],
)
def test_what_can_not_stay_is_refused(tmp_path: Path, new: NewTable, words: str) -> None:
    with pytest.raises(KeyfoldError, match=words):
        redefine(made(tmp_path), new, check)


def test_a_replace_keeps_only_where_it_says_so(tmp_path: Path) -> None:
    made(tmp_path)
    catalog = open_catalog("test", {"warehouse": str(tmp_path)}, check)
    new = saved("K", "p", "n")
    with pytest.raises(TableError, match="no primary key"):
        catalog.stage(["default"], "t", replace(new, keeps=False), "create_or_replace")
    staged = catalog.stage(["default"], "t", new, "create_or_replace")
    catalog.commit_staged(staged)
    assert catalog.load_table(["default"], "t").layout.primary_key == ("p", "K")
    with pytest.raises(TableError, match="no primary key"):
        catalog.stage(["default"], "fresh", new, "create_or_replace")
