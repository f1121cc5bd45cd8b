"""Spark sessions with keyfold in them: the one line from Python, and the same as plain confs.

A conf the user has set is kept: lists get one more entry, single values stay. The jar must be on
the class path when the JVM starts, so a JVM that already runs is only checked.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyfold.errors import EnvironmentMismatchError
from keyfold.setup import running_jvm, spark_submit
from keyfold.setup.spark_errors import catch_errors
from keyfold.setup.spark_submit import with_entry
from keyfold.wire.version import package_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG_CLASS = "keyfold.spark.KeyfoldCatalog"
EXTENSIONS_CLASS = "keyfold.spark.KeyfoldExtensions"
JARS = "spark.jars"
EXTENSIONS = "spark.sql.extensions"
SESSION_PYTHON = (
    "spark.keyfold.session.python"  # used where no setting of the user's names a Python
)


def configure(
    builder: "SparkSession.Builder", catalog: str = "keyfold", warehouse: str | None = None
) -> "SparkSession.Builder":
    """The builder, with keyfold's jar, session extension and a catalog added to its settings.

    The user's own settings are kept. Failures of keyfold are raised as its own classes from now on
    (see `catch_errors`).

    Args:
        builder: `SparkSession.builder`, of a classic session or of Spark Connect.
        catalog: The name its tables have in SQL: keyfold.shop.stock.
        warehouse: A folder or object store URL for the tables; without one they are below Spark's
            own warehouse.

    Raises:
        EnvironmentMismatchError: A JVM already runs without keyfold, to which no jar can be added
            (the message has the line to add to spark-submit), or this package has no jar.
    """
    catch_errors()
    wanted = session_confs(catalog, warehouse)
    jvm = running_jvm.find(builder)
    if jvm is None:
        outside = {name: spark_submit.setting(name) for name in (JARS, EXTENSIONS)}
        spark_submit.add_jar(wanted[JARS])
    else:
        running_jvm.check(jvm, EXTENSIONS_CLASS, submit_arguments(wanted))
        outside = {EXTENSIONS: jvm.extensions}
        del wanted[JARS]
        if jvm.has_session:
            del wanted[EXTENSIONS]
        if jvm.is_remote:
            del wanted[SESSION_PYTHON]
    for name, value in merged(outside | builder._options, wanted).items():
        builder.config(name, value)
    return builder


def submit_arguments(confs: Mapping[str, str]) -> str:
    """The confs as the arguments of spark-submit, spark-sql or spark-shell."""
    others = [f"--conf {shlex.quote(f'{n}={v}')}" for n, v in confs.items() if n != JARS]
    return " ".join([f"--jars {shlex.quote(confs[JARS])}", *others])


def jar_path() -> Path:
    """The jar inside this package, for `--jars`.

    Raises EnvironmentMismatchError if the package was built without it.
    """
    jar = Path(__file__).parents[1] / "jars" / f"keyfold-{package_version()}.jar"
    if not jar.exists():
        raise EnvironmentMismatchError(
            f"keyfold {package_version()} is installed without its jar: expected {jar}; "
            "in a clone run `make jar`, elsewhere reinstall the package"
        )
    return jar


def session_confs(catalog: str = "keyfold", warehouse: str | None = None) -> dict[str, str]:
    """Every conf a session needs, as if nothing were set yet."""
    confs = {JARS: str(jar_path()), **catalog_confs(catalog, warehouse)}
    return confs | {SESSION_PYTHON: sys.executable}


def with_shipped_python(
    confs: Mapping[str, str], folder: str, *, for_driver: bool
) -> dict[str, str]:
    """The confs, with workers that run the Python of an archive unpacked into `folder`. With
    `for_driver` the driver runs it too, else the Python of this process.
    """
    kept = {name: value for name, value in confs.items() if name != SESSION_PYTHON}
    shipped = {"spark.keyfold.python": f"{folder}/bin/python"}
    own = {} if for_driver else {"spark.keyfold.driver.python": sys.executable}
    return kept | shipped | own


def catalog_confs(catalog: str, warehouse: str | None) -> dict[str, str]:
    """The confs that a session gets by name, without jar and interpreter."""
    confs = {EXTENSIONS: EXTENSIONS_CLASS, f"spark.sql.catalog.{catalog}": CATALOG_CLASS}
    if warehouse is not None:
        confs[f"spark.sql.catalog.{catalog}.warehouse"] = str(warehouse)
    return confs


def merged(options: Mapping[str, Any], wanted: Mapping[str, str]) -> dict[str, str]:
    """The confs to set on a builder that has `options` so that it has `wanted` too."""
    confs = {name: str(options.get(name, value)) for name, value in wanted.items()}
    for name in {JARS, EXTENSIONS} & wanted.keys():
        confs[name] = with_entry(str(options.get(name) or ""), wanted[name])
    return confs
