"""Settings of catalogs and sessions that nobody reads, and one bad catalog beside good ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed

CATALOG = "spark.sql.catalog."
Put = Callable[[str, str], None]


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Put]:
    """Sets a name of the session until the test is over."""
    names: list[str] = []

    def put(name: str, value: str) -> None:
        names.append(name)
        spark.conf.set(name, value)

    yield put
    for name in names:
        spark.conf.unset(name)


def catalog(conf: Put, name: str, settings: dict[str, str]) -> str:
    """A catalog of its own, and a question to it; Spark opens each name once a session."""
    conf(CATALOG + name, "keyfold.spark.KeyfoldCatalog")
    for setting, value in settings.items():
        conf(f"{CATALOG}{name}.{setting}", value)
    return f"SHOW NAMESPACES IN {name}"


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        (
            "bad_typo",
            {"warehose": "/tmp"},
            r"bad_typo\.warehose is unknown; did you mean warehouse",
        ),
        (
            "bad_cased",
            {"Warehouse": "/tmp"},
            r"bad_cased\.Warehouse is unknown; did you mean warehouse",
        ),
        ("bad_other", {"table-default.bucket": "1"}, r"table-default\.bucket is unknown"),
        (
            "bad_store",
            {"s3.acces-key": "x"},
            r"s3\.acces-key is unknown; did you mean s3\.access-key",
        ),
        ("bad_blank", {"warehouse": ""}, r"bad_blank has no warehouse"),
    ],
)
def test_a_bad_setting_of_a_catalog_is_refused(
    spark: SparkSession, conf: Put, name: str, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(keyfold.TableError, match=said):
        spark.sql(catalog(conf, name, settings)).collect()


def test_what_a_client_of_a_store_is_told_is_passed_on(
    spark: SparkSession, conf: Put, tmp_path: Path
) -> None:
    settings = {"warehouse": str(tmp_path), "fs.s3a.path.style.access": "true"}
    assert spark.sql(catalog(conf, "good_settings", settings)).collect() == [("default",)]


@pytest.mark.parametrize(
    ("name", "warehouse"), [("bad_a0", ""), ("bad_a1", "a:b"), ("bad_a2", " ")]
)
def test_a_catalog_without_a_warehouse_breaks_no_path(
    spark: SparkSession,
    conf: Put,
    warehouse: str,
    name: str,
    folder: Path,
    fresh_name: Callable[[], str],
) -> None:
    table = fresh_name()
    create_keyed(spark, table, "k INT")
    catalog(conf, name, {"warehouse": warehouse})
    path = folder / "warehouse" / "it.db" / table.rpartition(".")[2]
    assert spark.read.format("keyfold").load(str(path)).count() == 0


def test_a_misspelt_setting_of_the_session_is_refused(spark: SparkSession, conf: Put) -> None:
    conf("spark.keyfold.worker.memry", "1g")
    said = r"worker\.memry of the session is unknown; expected one of .*worker\.memory"
    with pytest.raises(keyfold.TableError, match=said):
        spark.sql("SHOW NAMESPACES IN keyfold").collect()


def test_namespaces_have_one_level(spark: SparkSession) -> None:
    with pytest.raises(keyfold.KeyfoldError, match="one level"):
        spark.sql("CREATE NAMESPACE keyfold.a.b")
