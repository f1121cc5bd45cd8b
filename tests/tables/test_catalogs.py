"""Namespaces and tables: made, found, altered, renamed and dropped, by name and by path."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import keyfold
from keyfold import (
    Catalog,
    KeyfoldError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)

STOCK = {"sku": "STRING", "qty": "BIGINT"}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=2)


def test_namespaces(catalog: Catalog) -> None:
    catalog.create_namespace("shop", {"owner": "me"})
    assert catalog.namespaces() == ["default", "shop"]
    with pytest.raises(NamespaceExistsError):
        catalog.create_namespace("shop")
    catalog.create_namespace("shop", if_not_exists=True)
    catalog.create_table("shop.stock", STOCK, ["sku"])
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("shop")
    assert catalog.drop_namespace("shop", cascade=True)
    assert not catalog.drop_namespace("shop")
    with pytest.raises(NoSuchNamespaceError):
        catalog.tables("shop")


def test_names_and_paths_that_are_too_long(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("t", {"k": "INT", "p": "STRING"}, ["k", "p"], ["p"])
    long, longer, deep = "é" * 150, "n" * 9000, "/".join(["folder"] * 1000)
    no_name = r"the name né*…? in it has 301 bytes, more than .*, mostly 255: .*shorter name"
    tries: list[tuple[Callable[[], object], str]] = [
        (lambda: catalog.create_table(longer, STOCK), "not allowed .longer than 200 bytes"),
        (lambda: catalog.create_table(tmp_path / f"n{long}", STOCK, ["sku"]), no_name),
        (lambda: catalog.create_table(tmp_path / deep, STOCK, ["sku"]), "more than the 4096 that"),
        (lambda: catalog.tables(longer), "the name n* *… in it has 9003 bytes"),
        (lambda: keyfold.connect(tmp_path / f"n{long}"), f"connecting to .*{no_name}"),
        (lambda: table.tags.create(longer), "of printable characters, at most 251 bytes"),
        (lambda: table.branches.create(longer), "one part of a path, of at most 248 bytes"),
        (lambda: table.upsert([{"k": 1, "p": long}]), "302 bytes.*partition by shorter values"),
    ]
    for number, (run, words) in enumerate(tries):
        with pytest.raises(KeyfoldError, match=words) as error:
            run()
        assert len(str(error.value)) < 2000, number


def test_tables(catalog: Catalog) -> None:
    catalog.create_namespace("shop")
    made = catalog.create_table(
        "shop.stock",
        {"sku": "STRING", "day": "DATE", "qty": "DECIMAL(10,2)", "more": "ARRAY<STRUCT<a: INT>>"},
        primary_key=["day", "sku"],
        partitions=["day"],
        options={"bucket": "2"},
        comment="what is there",
    )
    assert made.name == "keyfold.shop.stock"
    assert made.columns == {
        "sku": "STRING NOT NULL",
        "day": "DATE NOT NULL",
        "qty": "DECIMAL(10,2)",
        "more": "ARRAY<STRUCT<a: INT>>",
    }
    assert (made.primary_key, made.partitions) == (("day", "sku"), ("day",))
    assert (made.comment, made.options["bucket"], made.snapshot) == ("what is there", "2", None)
    with pytest.raises(TableExistsError):
        catalog.create_table("shop.stock", STOCK, ["sku"])
    assert catalog.create_table("shop.stock", STOCK, ["sku"], if_not_exists=True).comment
    assert catalog.tables("shop") == ["stock"]
    renamed = catalog.rename_table("shop.stock", "goods")
    assert (catalog.tables("shop"), catalog.tables()) == ([], ["goods"])
    assert renamed.columns == catalog.table("goods").columns
    assert catalog.drop_table("goods")
    assert not catalog.drop_table("goods")
    with pytest.raises(NoSuchTableError):
        catalog.table("goods")


def test_an_arrow_schema_makes_the_columns(catalog: Catalog) -> None:
    schema = pa.schema(
        [
            pa.field("k", pa.uint16(), nullable=False),
            pa.field("t", pa.timestamp("ns", "Europe/Berlin"), metadata={"comment": "when"}),
            pa.field("n", pa.timestamp("ms")),
            pa.field("s", pa.dictionary(pa.int8(), pa.large_string())),
            pa.field("m", pa.map_(pa.string(), pa.list_(pa.float16()))),
            pa.field("d", pa.decimal256(20, 3)),
        ]
    )
    assert catalog.create_table("t", schema, ["k"]).columns == {
        "k": "INT NOT NULL",
        "t": "TIMESTAMP",
        "n": "TIMESTAMP_NTZ",
        "s": "STRING",
        "m": "MAP<STRING, ARRAY<FLOAT>>",
        "d": "DECIMAL(20,3)",
    }
    with pytest.raises(NotSupportedError, match=r"column late: Arrow type duration\[s\]"):
        catalog.create_table("u", pa.schema([("late", pa.duration("s"))]), ["late"])


def test_what_can_t_be_made_is_refused_by_name(catalog: Catalog) -> None:
    with pytest.raises(NotSupportedError, match="column v: type INTERVAL"):
        catalog.create_table("t", {"k": "INT", "v": "INTERVAL YEAR TO MONTH"}, ["k"])
    with pytest.raises(NotSupportedError, match="key column a must be of an atomic type"):
        catalog.create_table("t", {"a": "ARRAY<INT>"}, ["a"])
    with pytest.raises(TableError, match="buckets"):
        catalog.create_table("t", STOCK, ["sku"], options={"buckets": "2"})
    for wrong in ("", "a.b.c", "a..b", "a.", "`a"):
        with pytest.raises(TableError, match="is not a name of a table"):
            catalog.table(wrong)


def test_alter(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"k": "INT", "v": "INT", "w": "STRING"}, ["k"])
    table.upsert([{"k": 1, "v": 2, "w": "x"}])
    table.alter(
        add={"more": "DOUBLE"},
        drop=["w"],
        rename={"v": "value"},
        types={"value": "BIGINT"},
        options={"target-file-size": "64 mb"},
        comment="new",
    )
    assert table.columns == {"k": "INT NOT NULL", "value": "BIGINT", "more": "DOUBLE"}
    assert (table.comment, table.options["target-file-size"]) == ("new", "64 mb")
    assert table.scan().to_pylist() == [{"k": 1, "value": 2, "more": None}]
    table.alter(options={"target-file-size": None})
    assert "target-file-size" not in table.options
    with pytest.raises(NotSupportedError, match="from BIGINT to INT"):
        table.alter(types={"value": "INT"}, add={"never": "INT"})
    assert "never" not in table.columns


def test_a_table_by_path(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "elsewhere" / "t"
    table = catalog.create_table(path, STOCK, ["sku"])
    table.upsert([{"sku": "nut", "qty": 1}])
    assert table.location == str(path)
    assert keyfold.connect(tmp_path / "other").table(str(path)).scan().to_arrow().num_rows == 1


def test_the_default_warehouse_is_that_of_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = keyfold.connect()
    monkeypatch.chdir("/")
    catalog.create_table("t", STOCK, ["sku"])
    place = tmp_path / "spark-warehouse" / "keyfold" / "default.db" / "t"
    assert catalog.table("t").location == str(place)


def test_settings_that_nobody_knows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="did you mean warehouse"):
        keyfold.connect(tmp_path, warehose="x")
    with pytest.raises(TableError, match="threads of 1 or more"):
        keyfold.connect(tmp_path, threads=0)
    with pytest.raises(TableError, match="memory"):
        keyfold.connect(tmp_path, memory=1)


def test_handles_can_be_pickled(catalog: Catalog) -> None:
    table = catalog.create_table("t", STOCK, ["sku"])
    table.upsert([{"sku": "nut", "qty": 1}])
    again, other = pickle.loads(pickle.dumps((table, catalog)))
    assert again.scan().to_pylist() == other.table("t").scan().to_pylist()
    scan = table.scan(where="qty = 1")
    table.upsert([{"sku": "nut", "qty": 2}])
    assert pickle.loads(pickle.dumps(scan)).to_pylist() == [{"sku": "nut", "qty": 1}]


@keyfold.aggregate.pick("BIGINT")
def roundest(best: int, value: int) -> bool:
    """The number that ten divides most often."""
    return value % 10 == 0 and best % 10 != 0


def test_functions_of_your_own(catalog: Catalog) -> None:
    options = {"merge-engine": "aggregation", "fields.qty.aggregate-function": "roundest"}
    with pytest.raises(TableError, match="roundest"):
        catalog.create_table("t", STOCK, ["sku"], options=options)
    keyfold.register(catalog, roundest)
    table = catalog.create_table("t", STOCK, ["sku"], options=options)
    for qty in (3, 20, 7):
        table.upsert([{"sku": "nut", "qty": qty}])
    assert table.scan().to_pylist() == [{"sku": "nut", "qty": 20}]
    table.compact()
    assert pickle.loads(pickle.dumps(table)).scan().to_pylist() == [{"sku": "nut", "qty": 20}]


def test_a_warehouse_that_is_not_there(tmp_path: Path) -> None:
    """A typing error in its name is told where a table is opened; the first table makes it."""
    catalog = keyfold.connect(tmp_path / "nope")
    with pytest.raises(NoSuchTableError, match=r"folder of the warehouse, .*nope, does not"):
        catalog.table("t")
    with pytest.raises(TableError, match=r"'a b/c' is not a name of a table.*write \./a b/c"):
        catalog.create_table("a b/c", {"k": "INT"}, ["k"])
    assert catalog.drop_table("t") is False
    assert catalog.create_table("t", {"k": "INT"}, ["k"]).primary_key == ("k",)
    with pytest.raises(NoSuchTableError, match=r"does not exist$"):
        catalog.table("u")
