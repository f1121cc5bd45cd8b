"""The project of docs/dbt.md and examples/dbt: dbt builds it twice, with flights of more days and
another name of an airline the second time, and once from the beginning. Its tables hold what plain
Python makes of the flights.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import textwrap
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest

import keyfold
from integration import TOP, sessions
from integration.demo.flights import read_table
from integration.docs.pages import DOCS
from integration.faults.processes import DEADLINE

PROJECT = TOP / "examples" / "dbt"
PYTHON = TOP / "build" / "dbt" / "bin" / "python"
CONF = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": f"{sessions.QUICK_JVM} {sessions.LOGGING}",
    **sessions.INTERPRETED,
}
QUOTED = {"keyfold.tag.note": "it's 5\\6"}
AS_TABLE = f"'table', unique_key=['day', 'carrier', 'flight', 'origin'], tblproperties={QUOTED}"
FIRST, SECOND = 2, 4  # the last day of January that dbt sees
Row = tuple[Any, ...]
Outcome = dict[str, list[str]]


class Built:
    """A copy of the project after commands of dbt, and what became of each node by each of them."""

    outcomes: list[Outcome]

    def __init__(self, folder: Path) -> None:
        self.folder = shutil.copytree(PROJECT, folder / "project")
        self.warehouse = folder / "warehouse"
        self.raw = read_table("flights").filter(pc.field("month") == 1)
        (self.folder / "data").mkdir()
        parquet.write_table(self.raw, self.folder / "data" / "flights.parquet")

    def run(self, *steps: list[str] | dict[str, str]) -> list[Outcome]:
        """What became of each node by each command, in one session (`program.py`)."""
        environment = os.environ | {"PYTHONPATH": f"{TOP / 'python'}:{TOP}"}
        conf = [str(PYTHON), "-m", "keyfold", "conf", "--warehouse", str(self.warehouse)]
        told = subprocess.run(conf, env=environment, check=True, capture_output=True, text=True)
        more = " ".join(f"--conf '{name}={value}'" for name, value in CONF.items())
        arguments = f"{told.stdout.strip()} --master local[2] {more} pyspark-shell"
        done = subprocess.run(
            [str(PYTHON), str(Path(__file__).with_name("program.py")), *map(json.dumps, steps)],
            cwd=self.folder,
            env=environment | {"PYSPARK_SUBMIT_ARGS": arguments},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        told_of = [line for line in done.stdout.splitlines() if line.startswith("DONE ")]
        assert told_of, done.stdout + done.stderr
        return [json.loads(line.removeprefix("DONE ")) for line in told_of]

    def rows(self, name: str, *columns: str) -> list[Row]:
        """The rows of a table in order, read without Spark."""
        table = keyfold.connect(str(self.warehouse)).table(f"flights.{name}")
        return sorted(tuple(row[c] for c in columns) for row in table.scan().to_arrow().to_pylist())

    def flights(self) -> list[dict[str, Any]]:
        """Those of all days that dbt saw, as the source has them."""
        return self.raw.filter(pc.field("day") <= SECOND).to_pylist()


def build(until: int, *more: str) -> list[str]:
    """The command that builds everything of the flights up to a day."""
    return ["build", *more, "--vars", json.dumps({"until": until})]


def renamed(seed: str) -> str:
    """Airlines with another name for one, and without one that did not fly on these days."""
    text = seed.replace("Envoy Air", "Envoy Air Inc.").replace("OO,SkyWest Airlines Inc.\n", "")
    assert len(text) == len(seed) + len(" Inc.") - len("OO,SkyWest Airlines Inc.\n")
    return text


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The project after two runs of everything and two of a part."""
    if not PYTHON.exists():
        raise FileNotFoundError(f"{PYTHON} does not exist: `make build/dbt/.installed` sets it up")
    project = Built(tmp_path_factory.mktemp("dbt"))
    airlines = (PROJECT / "seeds/airlines.csv").read_text(encoding="utf-8")
    project.outcomes = project.run(
        build(FIRST),
        {"seeds/airlines.csv": renamed(airlines)},
        build(SECOND),
        build(SECOND, "--full-refresh", "--select", "carriers", "routes"),
        ["docs", "generate"],
        {"models/keyless.sql": "{{ config(materialized='table') }} SELECT 1 AS one"},
        build(SECOND, "--select", "keyless"),
        {"models/departures.sql": read("models/departures.sql").replace("'view'", AS_TABLE)},
        build(SECOND, "--select", "departures"),
    )
    return project


def test_all_nodes_are_built_and_all_tests_pass(built: Built) -> None:
    first, second, again, *_ = built.outcomes
    tables = {"airlines", "carrier_names", "carriers", "days", "departures", "flights", "routes"}
    assert tables < first.keys() == second.keys()
    assert tables & again.keys() == {"carriers", "routes"}
    for outcome in (first, second, again):
        wrong = {n: told for n, told in outcome.items() if told[0] not in ("success", "pass")}
        assert wrong == {}


def test_the_documentation_lists_columns(built: Built) -> None:
    text = (built.folder / "target/catalog.json").read_text(encoding="utf-8")
    nodes = json.loads(text)["nodes"]
    assert list(nodes["model.flights.routes"]["columns"]) == [
        "origin",
        "dest",
        "flights",
        "last_day",
    ]
    assert "day" in nodes["model.flights.departures"]["columns"]


def test_a_view_becomes_a_table(built: Built) -> None:
    assert built.outcomes[-1] == {"departures": ["success", "OK"]}
    assert len(built.rows("departures", "day")) == len(built.flights())
    options = keyfold.connect(str(built.warehouse)).table("flights.departures").options
    assert QUOTED.items() <= options.items()


def test_a_table_without_a_key_is_refused(built: Built) -> None:
    status, told = built.outcomes[-2]["keyless"]
    assert status == "error"
    assert "model.flights.keyless has no unique_key, and a keyfold table needs a" in told


def test_merge_adds_the_flights_of_more_days(built: Built) -> None:
    columns = ("day", "carrier", "flight", "origin", "dest", "departed")
    expected = [
        (day(row), *(row[name] for name in columns[1:-1]), row["dep_delay"] is not None)
        for row in built.flights()
    ]
    assert built.rows("flights", *columns) == sorted(expected)
    table = keyfold.connect(str(built.warehouse)).table("flights.flights")
    assert table.primary_key == ("day", "carrier", "flight", "origin")


def test_insert_overwrite_replaces_partitions(built: Built) -> None:
    flown: dict[Row, list[bool]] = defaultdict(list)
    for row in built.flights():
        flown[day(row), row["origin"]].append(row["dep_delay"] is None)
    expected = [(*key, len(cancelled), sum(cancelled)) for key, cancelled in flown.items()]
    assert built.rows("days", "day", "origin", "flights", "cancelled") == sorted(expected)


def test_append_adds_to_totals(built: Built) -> None:
    totals = Counter((row["origin"], row["dest"]) for row in built.flights())
    found = built.rows("routes", "origin", "dest", "flights")
    assert found == sorted((*route, count) for route, count in totals.items())


def test_a_table_is_joined_with_a_seed(built: Built) -> None:
    totals = Counter(row["carrier"] for row in built.flights())
    found = built.rows("carriers", "carrier", "flights", "name")
    assert [row[:2] for row in found] == sorted(totals.items())
    assert ("MQ", totals["MQ"], "Envoy Air Inc.") in found


def test_a_snapshot_keeps_what_was(built: Built) -> None:
    found = built.rows("carrier_names", "carrier", "name", "dbt_valid_to")
    ended = sorted((carrier, name) for carrier, name, end in found if end is not None)
    assert ended == [("MQ", "Envoy Air"), ("OO", "SkyWest Airlines Inc.")]
    assert [(carrier, name) for carrier, name, end in found if end is None] == [
        tuple(line.split(","))
        for line in (built.folder / "seeds/airlines.csv").read_text().splitlines()[1:]
    ]


def test_the_page_shows_the_project() -> None:
    page = (DOCS / "dbt.md").read_text(encoding="utf-8")
    shown = re.findall(r"^ *```yaml\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL)
    for text, name in zip(shown, FILES, strict=True):
        assert textwrap.dedent(text) in read(name)
    (model,) = re.findall(r"^```jinja\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert model == read("models/routes.sql")
    lock = (TOP / "requirements-dbt.lock").read_text(encoding="utf-8")
    for name, version in re.findall(r"'(dbt-\w+)==([\d.]+)\.\*'", page):
        assert f"\n{name}=={version}." in lock


FILES = ("dbt_project.yml", "profiles.yml")


def read(name: str) -> str:
    """A file of the project."""
    return (PROJECT / name).read_text(encoding="utf-8")


def day(row: dict[str, Any]) -> date:
    """The day of a flight."""
    return date(row["year"], row["month"], row["day"])
