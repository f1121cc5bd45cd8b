"""The one line from Python: what it adds to a builder, what it keeps, and when it refuses."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import keyfold
from keyfold.errors import EnvironmentMismatchError
from keyfold.setup import doctor, session
from tests.option_names import setting_names

JAR = str(session.jar_path())


class Builder:
    """As much of SparkSession.Builder as configure uses."""

    def __init__(self, **options: str) -> None:
        self._options: dict[str, Any] = setting_names(options)

    def config(self, name: str, value: str) -> "Builder":
        self._options[name] = value
        return self


@pytest.fixture(autouse=True)
def spark(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A pyspark in which nothing runs yet."""
    context = SimpleNamespace(_active_spark_context=None, _gateway=None, _jvm=None)
    context._ensure_initialized = lambda: None
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(SparkContext=context))
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    return context


def configured(builder: Builder, **arguments: Any) -> dict[str, Any]:
    """The builder's options after configure."""
    assert keyfold.configure(builder, **arguments) is builder  # type: ignore[arg-type, comparison-overlap]
    return builder._options


def test_an_empty_builder_gets_everything() -> None:
    assert configured(Builder()) == {
        "spark.jars": JAR,
        "spark.sql.extensions": "keyfold.spark.KeyfoldExtensions",
        "spark.sql.catalog.keyfold": "keyfold.spark.KeyfoldCatalog",
        "spark.keyfold.session.python": sys.executable,
    }


def test_catalog_and_warehouse_have_names() -> None:
    options = configured(Builder(), catalog="lake", warehouse="/data/lake")
    assert options["spark.sql.catalog.lake"] == "keyfold.spark.KeyfoldCatalog"
    assert options["spark.sql.catalog.lake.warehouse"] == "/data/lake"
    assert "spark.sql.catalog.keyfold" not in options


def test_what_is_set_stays_and_lists_grow() -> None:
    options = configured(
        Builder(
            spark__jars="a.jar, b.jar",
            spark__sql__extensions="org.Other",
            spark__sql__catalog__keyfold__warehouse="/mine",
            spark__keyfold__python="/opt/python",
        ),
        warehouse="/theirs",
    )
    assert options["spark.jars"] == f"a.jar,b.jar,{JAR}"
    assert options["spark.sql.extensions"] == "org.Other,keyfold.spark.KeyfoldExtensions"
    assert options["spark.sql.catalog.keyfold.warehouse"] == "/mine"
    assert options["spark.keyfold.python"] == "/opt/python"


def test_twice_is_as_good_as_once() -> None:
    builder = Builder()
    once = dict(configured(builder))
    assert configured(builder) == once


@pytest.fixture
def conf_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A SPARK_CONF_DIR without files."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def test_lists_of_spark_defaults_grow(conf_dir: Path) -> None:
    (conf_dir / "spark-defaults.conf").write_text(
        "# ours\nspark.sql.extensions  org.Other\nspark.jars=/a.jar\nspark.app.name x y\n"
    )
    options = configured(Builder())
    assert options["spark.sql.extensions"] == "org.Other,keyfold.spark.KeyfoldExtensions"
    assert options["spark.jars"] == f"/a.jar,{JAR}"
    assert "spark.app.name" not in options
    replaced = configured(Builder(spark__sql__extensions="org.Mine"))
    assert replaced["spark.sql.extensions"] == "org.Mine,keyfold.spark.KeyfoldExtensions"


@pytest.mark.parametrize("form", ["--jars /b.jar", "--jars=/b.jar"])
def test_lists_of_submit_arguments_grow(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    words = f"--conf spark.sql.extensions=org.Other {form} pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words)
    for _ in range(2):
        options = configured(Builder())
        assert options["spark.sql.extensions"] == "org.Other,keyfold.spark.KeyfoldExtensions"
        assert options["spark.jars"] == f"/b.jar,{JAR}"
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == words.replace("/b.jar", f"/b.jar,{JAR}")


def context_with(**confs: str) -> SimpleNamespace:
    """A SparkContext that runs with these confs."""
    return SimpleNamespace(getConf=lambda: setting_names(confs))


def test_a_context_without_keyfold_is_refused_with_the_line(spark: SimpleNamespace) -> None:
    spark._active_spark_context = context_with()
    with pytest.raises(EnvironmentMismatchError) as caught:
        configured(Builder(), catalog="lake", warehouse="/my data")
    message = str(caught.value)
    assert "call keyfold.configure(builder) before" in message
    assert f"--jars {JAR}" in message
    assert "--conf spark.sql.extensions=keyfold.spark.KeyfoldExtensions" in message
    assert "--conf 'spark.sql.catalog.lake.warehouse=/my data'" in message


def test_a_context_with_keyfold_gets_the_catalog(spark: SimpleNamespace) -> None:
    spark._active_spark_context = context_with(spark__sql__extensions=session.EXTENSIONS_CLASS)
    options = configured(Builder(), catalog="second")
    assert options["spark.sql.catalog.second"] == session.CATALOG_CLASS
    assert "spark.jars" not in options
    assert "spark.sql.extensions" not in options


def gateway(has_class: bool, **properties: str) -> SimpleNamespace:
    """A JVM whose class loader does or doesn't find a class, with these system properties."""
    set_there = setting_names(properties)

    def load(name: str) -> str:
        if not has_class:
            raise RuntimeError(name)
        return name

    loader = SimpleNamespace(loadClass=load)
    thread = SimpleNamespace(getContextClassLoader=lambda: loader)
    current = SimpleNamespace(currentThread=lambda: thread)
    system = SimpleNamespace(getProperty=set_there.get)
    return SimpleNamespace(
        java=SimpleNamespace(lang=SimpleNamespace(Thread=current, System=system))
    )


def test_under_spark_submit_the_jar_must_be_there(
    spark: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    spark._jvm = gateway(has_class=False)
    with pytest.raises(EnvironmentMismatchError, match="--jars"):
        configured(Builder())
    spark._jvm = gateway(has_class=True)
    options = configured(Builder())
    assert options["spark.sql.extensions"] == session.EXTENSIONS_CLASS
    assert "spark.jars" not in options


def test_extensions_of_spark_submit_are_kept(
    spark: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    spark._jvm = gateway(has_class=True, spark__sql__extensions="org.Other")
    options = configured(Builder())
    assert options["spark.sql.extensions"] == "org.Other,keyfold.spark.KeyfoldExtensions"


@pytest.mark.parametrize("extensions", ["", session.EXTENSIONS_CLASS])
def test_a_connect_server_is_asked(extensions: str) -> None:
    builder = Builder(spark__remote="sc://host")
    remote = SimpleNamespace(conf={"spark.sql.extensions": extensions})
    builder.getOrCreate = lambda: remote  # type: ignore[attr-defined]
    if extensions:
        options = configured(builder)
        assert options["spark.sql.catalog.keyfold"] == session.CATALOG_CLASS
        assert session.SESSION_PYTHON not in options, "this Python is not on the server's machine"
    else:
        with pytest.raises(EnvironmentMismatchError, match="Connect server sc://host"):
            configured(builder)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m keyfold` with these arguments."""
    command = [sys.executable, "-m", "keyfold", *arguments]
    known = os.environ | environment
    return subprocess.run(command, env=known, capture_output=True, text=True, check=False)


def test_the_command_line_prints_what_submit_needs() -> None:
    assert run("jar-path").stdout.strip() == JAR
    line = run("conf", "--catalog", "lake", "--warehouse", "/w").stdout
    assert line.startswith(f"--jars {JAR} --conf ")
    assert "--conf spark.sql.catalog.lake.warehouse=/w" in line


def test_doctor_finds_nothing_wrong_here() -> None:
    done = run("doctor")
    assert done.returncode == 0, done.stdout
    assert "WRONG" not in done.stdout
    assert JAR in done.stdout


def test_doctor_knows_the_versions_of_spark() -> None:
    wrong = [v for v in ("4.1.4", "4.2.0", "4.2.1", "4.3.0", "4.4.0") if doctor.spark(v).remedy]
    assert wrong == ["4.1.4", "4.2.0", "4.4.0"]
    assert doctor.spark("4.1.4").remedy == "keyfold's jar is for Spark 4.2.1 to 4.3"
    pins = Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")
    major, minor = doctor.LAST
    assert f'spark = ["pyspark>={".".join(map(str, doctor.FIRST))},<{major}.{minor + 1}"' in pins


def test_doctor_holds_workers_against_the_machine() -> None:
    fits, tight = doctor.memory(8, 4 << 30), doctor.memory(9, 4 << 30)
    assert (fits.remedy, fits.found[:17]) == (None, "4.0 GiB, 8 cores;")
    assert tight.remedy is not None
    assert "spark.keyfold.worker.memory" in tight.remedy


def test_doctor_says_how_the_kernel_cache_stands(tmp_path: Path) -> None:
    def told(root: Path) -> tuple[int, str]:
        done = run("doctor", KEYFOLD_CACHE_DIR=str(root))
        line, after = re.findall(r"^(.*) kernel cache: (.*(?:\n {6}.*)?)", done.stdout, re.M)[0]
        assert (line.strip() == "WRONG") == bool(done.returncode)
        return done.returncode, after

    (tmp_path / "kernels-older").mkdir()
    (tmp_path / "file").touch()
    status, found = told(tmp_path)
    assert status == 0
    assert "not filled yet: python -m keyfold warmup; 1 folders beside it" in found
    status, found = told(tmp_path / "file")
    assert status == 1
    assert "KEYFOLD_CACHE_DIR" in found


def test_warmup_says_where() -> None:
    assert "kernels" in run("warmup").stdout


def test_a_package_without_its_jar_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "__file__", str(tmp_path / "session.py"))
    with pytest.raises(EnvironmentMismatchError, match="make jar"):
        session.jar_path()
