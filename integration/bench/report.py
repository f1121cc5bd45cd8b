"""docs/benchmarks.md: results in one table, how they were measured, tables of all figures with the
charts beside them, and the goals.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from integration.bench import charts, joins, opening, page, streaming
from integration.bench.cases import ENGINES, Settings
from integration.bench.cells import cell, millions, picture, short, table, times
from integration.bench.engines import systems as engines
from integration.bench.figures import NAMES, Figures
from integration.bench.goals import goals
from integration.bench.partitions import ROWS
from integration.bench.row_changes import SCAN, STATEMENTS

Read = tuple[str, str, str]  # label, case, shape
READS = """\
Rows are those of all runs. In Spark, keyfold and Paimon's Java library are each the source of one
query, `max` of every column, which Spark computes from their rows. keyfold's reader sends Arrow
batches from its worker processes. Paimon's returns rows in Spark's own JVM, through a small source
of this project, not its connector (a split is a task; a row stays Paimon's until Spark asks for a
cell). Without Spark, both readers get the same buckets, one for each task, and touch every cell:
keyfold's in two processes with Arrow's `max`, Paimon's in two threads with `max` in a Scala loop.
The last column compares unlike things: keyfold with Spark's work in it, Paimon without. A page
of its own tells [where the time of a read goes](profile.md)."""
ICEBERG = """\
Delta has deletion vectors, and so has Iceberg, whose tables are merge-on-read of format 3. Delta
deletes keys by MERGE, the others by DELETE with a subquery."""
NO_ICEBERG = """\
Delta has deletion vectors, and deletes keys by MERGE, keyfold by DELETE with a subquery.
Iceberg was not measured: `make build/iceberg/.installed` makes what it needs."""
HEADS = {
    "overlap": "keys that runs share",
    "key": "key columns",
    "runs": "runs",
    "width": "columns",
}


def write(
    figures: Figures, settings: Settings, docs: Path, command: Sequence[str], took: float
) -> None:
    """The page and its pictures."""
    docs.mkdir(parents=True, exist_ok=True)
    pictures = charts.draw(figures, settings, docs)
    sections = [
        opening.RESULTS,
        opening.about(figures, settings, command, took) + opening.answered(figures),
        "\n".join(opening.failures(figures)),
        upserts(figures, settings, pictures),
        statements(figures, settings),
        merges(figures, settings, pictures),
        *(sweep(figures, settings, name, pictures) for name in HEADS),
        compaction(figures, settings),
        lookups(figures, settings),
        joins.section(figures, settings),
        a_day(figures, settings, pictures),
        others(figures, settings),
        memory(figures),
        "## Goals\n",
        table(["", "goal", "measured", ""], [goal.cells() for goal in goals(figures, settings)]),
        page.kept(docs),
    ]
    text = "\n".join(part.rstrip("\n") + "\n" for part in sections if part.strip())
    (docs / page.PAGE).write_text(text, encoding="utf-8")


def upserts(figures: Figures, settings: Settings, pictures: dict[str, str]) -> str:
    """By the part of rows that change."""
    systems = ("keyfold", "python", "delta", "paimon")
    rows = []
    parts = {part: f"upsert/{part}" for part in settings.fractions}
    for part, case in parts.items():
        rows.append([part, *beside(figures, settings, case, systems, ("delta", "paimon"))])
    heads = ["changed", *(f"{NAMES[s]}, s" for s in systems), "x Delta", "x Paimon", NO_SPARK]
    read = beside(figures, settings, "upsert/scan", systems, ("delta", "paimon"))
    alone = figures.seconds("changed rows/1 %", "plain")
    wrote = f"Plain Spark writes the rows of 1 %, sorted, in {short(alone)} s." if alone else ""
    return (
        f"## Upserts into {settings.base.total:,} rows\n\n"
        + picture(pictures, "upserts", "Seconds of an upsert by the part of rows that changes")
        + table(heads, [*rows, ["read of the table then", *read]])
        + "\nkeyfold and Paimon compact as they go, by default; Delta merges with deletion "
        + f"vectors. The commit is in every figure. {wrote}\n"
    )


def beside(
    figures: Figures,
    settings: Settings,
    case: str,
    systems: Sequence[str],
    others: Sequence[str],
) -> list[str]:
    """Seconds of each system, how many times as fast as others keyfold in Spark is, and as Paimon's
    library keyfold from Python.
    """
    cells = [cell(figures.get(case, system), settings.repeat) for system in systems]
    ratios = [figures.ratio(case, system) for system in others]
    ratios.append(figures.ratio(case, "paimon", ours="python"))
    return [*cells, *map(times, ratios)]


def statements(figures: Figures, settings: Settings) -> str:
    """Those that change rows, beside a read of the table before them."""
    systems = ("keyfold", "delta", "iceberg")
    rows = []
    for name, case in {**{name: f"rows/{name}" for name in STATEMENTS}, "a read": SCAN}.items():
        cells = [cell(figures.get(case, system), settings.repeat) for system in systems]
        ratios = [times(figures.ratio(case, system)) for system in systems[1:]]
        rows.append([name, *cells, *ratios])
    heads = ["", *(f"{NAMES[s]}, s" for s in systems), "x Delta", "x Iceberg"]
    measured = any(figures.get(f"rows/{name}", "iceberg") for name in STATEMENTS)
    return (
        f"## Statements that change rows of {settings.base.total:,}\n\n"
        + table(heads, rows)
        + f"\n{ICEBERG if measured else NO_ICEBERG} The read is of all cells, before the "
        "statements.\n"
    )


def reads(figures: Figures, settings: Settings, head: str, tables: Sequence[Read]) -> str:
    """Tables read by all systems that do: those in Spark first, then the readers alone."""
    lines = [table([head, *IN_SPARK], [in_spark(figures, settings, *read) for read in tables])]
    lines += [table([head, *ALONE], [alone(figures, settings, *read) for read in tables])]
    return "\n".join(lines)


def in_spark(figures: Figures, settings: Settings, label: str, case: str, shape: str) -> list[str]:
    """A table read through Spark."""
    scan = f"scan/{shape}"
    return [
        label,
        cell(figures.get(case, "keyfold"), settings.repeat),
        cell(figures.get(scan, "plain"), settings.repeat),
        cell(figures.get(case, "paimon-spark"), settings.repeat),
        millions(figures.rate(case, "keyfold")),
        times(figures.ratio(case, "plain", scan)),
        times(figures.ratio(case, "paimon-spark")),
    ]


def alone(figures: Figures, settings: Settings, label: str, case: str, _: str) -> list[str]:
    """The same table read by the readers without Spark."""
    return [
        label,
        cell(figures.get(case, "reader"), settings.repeat),
        cell(figures.get(case, "paimon"), settings.repeat),
        millions(figures.rate(case, "reader")),
        times(figures.ratio(case, "paimon", ours="reader")),
        times(figures.ratio(case, "paimon")),
    ]


NO_SPARK = "x Paimon, no Spark in either"
IN_SPARK = ["keyfold in Spark, s", "scan of all rows by Spark, s", "Paimon Java in Spark, s"]
IN_SPARK += ["keyfold, M rows/s", "x scan", "x Paimon, both in Spark"]
ALONE = ["keyfold's reader, s", "Paimon's Java reader, s", "keyfold's, M rows/s"]
ALONE += [NO_SPARK, "keyfold in Spark, x Paimon without (unlike)"]


def merges(figures: Figures, settings: Settings, pictures: dict[str, str]) -> str:
    """The main workload."""
    main = settings.main
    tables = [(f"`{engine}`", f"merge/{engine}/{main.name}", main.name) for engine in ENGINES]
    return (
        f"## Merge-on-read: 4 runs of {main.rows:,} rows, every other key in each\n\n"
        + picture(pictures, "merges", "Rows per second of merge-on-read by engine")
        + reads(figures, settings, "merge engine", tables)
        + f"\n{READS}\n\n{others_who_merge(figures, settings)}"
    )


def others_who_merge(figures: Figures, settings: Settings) -> str:
    """Other systems with the same answer."""
    cells, about = [], engines.LEFT_OUT
    for engine in ENGINES:
        for system in ("window", "pypaimon", "pypaimon-rust", *engines.SYSTEMS):
            shape = settings.few if system == "pypaimon" else settings.main
            case = f"merge/{engine}/{shape.name}"
            if found := figures.get(case, system):
                ratios = [times(figures.ratio(case, system, ours=o)) for o in ("keyfold", "reader")]
                name = f"`{engine}` by {NAMES[system]}"
                about = engines.ABOUT if system in engines.SYSTEMS else about
                cells.append([name, f"{shape.total:,}", cell(found, settings.repeat), *ratios])
    heads = ["", "rows", "s", "x keyfold's time", "x its reader's"]
    return f"Other ways to the same answers:\n\n{table(heads, cells)}\n{about}\n"


def sweep(figures: Figures, settings: Settings, name: str, pictures: dict[str, str]) -> str:
    """One thing varied."""
    shapes = settings.sweeps[name]
    tables = [
        (label, f"merge/deduplicate/{shape.name}", shape.name) for label, shape in shapes.items()
    ]
    most = max(shape.total for shape in shapes.values())
    few, many = min(settings.runs), max(settings.runs)
    titles = {
        "runs": f"Runs: {most:,} rows in {few} to {many} runs, half as many keys",
        "overlap": f"Overlap: 4 runs, {most:,} rows",
        "key": f"Key types: 4 runs, {most:,} rows",
        "width": f"Width: 4 runs, {most:,} rows, fewer where rows are wider than seven columns",
    }
    return (
        f"## {titles[name]}\n\n"
        + picture(pictures, name, titles[name])
        + reads(figures, settings, HEADS[name], tables)
    )


def compaction(figures: Figures, settings: Settings) -> str:
    """Full compaction, and reads after it; bulk write."""
    systems = ("keyfold", "python", "plain", "paimon", "delta")
    rows = []
    for case, label in (
        ("compact/deduplicate", "full compaction, `deduplicate`"),
        ("compact/aggregation", "full compaction, `aggregation`"),
        ("compacted/deduplicate", "read after it, `deduplicate`"),
        ("compacted/aggregation", "read after it, `aggregation`"),
        ("write", f"write {settings.main.rows:,} rows"),
    ):
        rows.append([label, *beside(figures, settings, case, systems, systems[2:])])
    heads = ["", *(f"{NAMES[system]}, s" for system in systems)]
    heads += ["x Spark", "x Paimon", "x Delta", NO_SPARK]
    return (
        f"## Compaction of 4 runs of {settings.main.rows:,} rows, and bulk write\n\n"
        + table(heads, rows)
        + "\nPlain Spark reads a Parquet file of the same rows as the compacted table holds, and "
        "writes sorted by key; Delta writes in no order; Paimon's writer reads records of fixed "
        "width, the others read Parquet.\n"
    )


def lookups(figures: Figures, settings: Settings) -> str:
    """By key."""
    systems = ("keyfold", "plain", "delta", "python", "paimon")
    labels = {
        "lookup/point": f"one key of {settings.base.total:,} rows",
        "lookup/range": "1,000 keys in a row",
        "lookup/point, 4 runs": "one key in 4 overlapping runs",
        "lookup/range, 4 runs": "1,000 keys in a row in them",
    }
    rows = [
        [label, *(cell(figures.get(case, system), settings.repeat) for system in systems)]
        for case, label in labels.items()
    ]
    return (
        f"## Look-ups by key, {settings.lookups} different keys\n\n"
        + table(["", *(f"{NAMES[system]}, s" for system in systems)], rows)
        + "\nPlain Spark and Delta have files sorted by key, each a range of it in Delta. Paimon's "
        "library and Python answer in process, the others through Spark SQL; one key is a filter "
        "of a read, but in Python a `get`.\n"
    )


def percentile(values: Sequence[float], part: float) -> float:
    """The value that so many are not above."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


def a_day(figures: Figures, settings: Settings, pictures: dict[str, str]) -> str:
    """Commits, reads and disk over a day."""
    rows = []
    for system in ("keyfold", "paimon", "delta"):
        day = figures.get("day", system)
        if day is None:
            continue
        took, reads, scans = (day.series[name] for name in ("commit", "point", "scan"))
        tenth = max(len(took) // 10, 1)
        early, late = statistics.median(took[:tenth]), statistics.median(took[-tenth:])
        cells = [percentile(took, 0.5), percentile(took, 0.99), max(took), early, late]
        cells += [percentile(reads, 0.5), percentile(reads, 0.99)]
        cells += [statistics.median(scans), scans[-1]]
        first = day.series["disk"][0] if day.series["disk"] else 0.0
        disk = f"{first:.0f} - {day.series['disk'][-1]:.0f} MB" if first else "-"
        rows.append([NAMES[system], str(len(took)), *map(short, cells), disk])
    heads = ["", "commits", "p50", "p99", "longest", "first tenth", "last tenth"]
    heads += ["look-up p50", "p99", "full read", "last full read", "disk, first to last"]
    return (
        f"## A day in fast motion: {settings.minute:,} rows a commit into {settings.day:,}\n\n"
        + picture(pictures, "day", "Seconds of each commit over the day, and disk")
        + table(heads, rows)
        + "\nSeconds. Every ten commits one key is looked up, every fifty the whole table is read; "
        "a commit includes the compaction that follows it.\n"
    )


def others(figures: Figures, settings: Settings) -> str:
    """Buckets, planning, the first query of a session."""
    rows = []
    for count in sorted({int(case.split("/")[1]) for case in figures.cases("buckets/")}):
        wrote = figures.get(f"buckets/{count}/write", "keyfold")
        read = figures.get(f"buckets/{count}/read", "keyfold")
        most = f"{wrote.notes['most']:.2f}" if wrote else "-"
        rows.append([str(count), cell(wrote, 3), cell(read, 3), most])
    plans = []
    for case in figures.cases("planning/"):
        found = figures.get(case, "keyfold")
        if found:
            plans.append(f"{case.removeprefix('planning/')} in {short(found.median)} s")
    first = [figures.get("first", system) for system in ("keyfold", "plain")]
    heads = ["buckets", "write, s", "read, s", "busiest task, of a fair share"]
    written = settings.rows // 2
    parts = [f"## Buckets: {written:,} rows\n\n" + table(heads, rows)] if rows else []
    if plans:
        found = figures.get("planning/all", "keyfold")
        files = f"{found.notes['files']:,}" if found else ""
        parts.append(f"\nA table of {files} files is planned: {', '.join(plans)}.\n")
    for case in figures.cases("partitions/"):
        ours, plain = (figures.get(case, system) for system in ("keyfold", "plain"))
        what = case.removeprefix("partitions/").capitalize()
        of = f"{settings.partitions} partitions of {ROWS} rows"
        both = f"keyfold {cell(ours, 3)} s, plain Spark {cell(plain, 3)} s"
        parts.append(f"\n{what} of {of}: {both}.\n")
    parts.append(streaming.shown(figures.get("stream/small", "keyfold"), settings))
    if all(first):
        ours, plain = (cell(result, settings.repeat) for result in first)
        parts.append(f"\nFirst query of a new process: keyfold {ours} s, plain Spark {plain} s.\n")
    return "".join(parts)


def memory(figures: Figures) -> str:
    """The greatest peak of each kind of case."""
    peaks: dict[tuple[str, str], dict[str, int]] = {}
    for (case, system), result in figures.results.items():
        group = case.split("/")[0]
        held = peaks.setdefault((group, system), {})
        for name, value in result.memory.items():
            held[name] = max(held.get(name, 0), value)
    rows = [
        [group, NAMES[system], *(str(held.get(n, 0) or "-") for n in ("main", "worker", "server"))]
        for (group, system), held in sorted(peaks.items())
        if held
    ]
    heads = ["cases", "system", "JVM (or process)", "largest worker", "fork server and driver"]
    return (
        "## Peak memory, MB\n\n"
        + table(heads, rows)
        + "\nVmHWM over the measured turns. A worker's figure includes pages that it shares with "
        "the process it was forked from.\n"
    )
