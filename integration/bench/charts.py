"""The charts of docs/benchmarks.md, as PNG. `python -m integration.bench.charts` draws those of
upserts and merges anew, of the figures that the page has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from integration import TOP, pictures
from integration.bench import stored
from integration.bench.cases import ENGINES, Settings, full
from integration.bench.cells import short
from integration.bench.data import Shape
from integration.bench.figures import NAMES, Figures

COLORS = {
    "keyfold": "#1b6e53",
    "plain": "#8a8a8a",
    "window": "#c9c9c9",
    "delta": "#2f6fb0",
    "paimon": "#d08a1d",
    "paimon-spark": "#a3670c",
    "reader": "#63b598",
    "iceberg": "#7b5ea7",
}
READERS = {
    "keyfold": "keyfold in Spark",
    "paimon-spark": "Paimon Java in Spark",
    "plain": "Spark's scan of all rows",
    "reader": "keyfold's reader, no Spark",
    "paimon": "Paimon's Java reader, no Spark",
}
ALONE = ("reader", "paimon")
WIDE = (9.6, 3.6)
LABEL_GAP = 1.32  # from a label to the next, as parts of a logarithmic axis


def draw(figures: Figures, settings: Settings, docs: Path) -> dict[str, str]:
    """All charts that there are figures for: name and file."""
    found: dict[str, Callable[[], Any]] = {}
    for name, sweep in (("runs", runs), ("width", width)):
        shapes = settings.sweeps[name].values()
        if all(figures.get(f"scan/{shape.name}", "plain") for shape in shapes):
            found[name] = partial(sweep, figures, settings)
    if figures.cases("upsert/"):
        found["upserts"] = partial(upserts, figures, settings)
    if figures.cases("merge/"):
        found["merges"] = partial(merges, figures, settings)
    if figures.get("day", "keyfold"):
        found["day"] = partial(day, figures)
    files = {name: f"benchmarks-{name}.png" for name in found}
    for name, file in files.items():
        pictures.save(found[name], docs / file, is_in_readme=name == "upserts")
    return files


def beside(ax: Any) -> None:
    """The legend, to the right of what it explains."""
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def bars(
    ax: Any,
    labels: Sequence[str],
    columns: dict[str, list[float | None]],
    names: Mapping[str, str] = NAMES,
    shown: Callable[[float], str] | None = None,
) -> None:
    """Groups of bars, one color per system."""
    width = 0.8 / max(len(columns), 1)
    for number, (system, values) in enumerate(columns.items()):
        places = [place - 0.4 + width * (number + 0.5) for place in range(len(labels))]
        heights = [value or 0.0 for value in values]
        drawn = ax.bar(places, heights, width * 0.92, label=names[system], color=COLORS[system])
        if shown is not None:
            ax.bar_label(drawn, [shown(height) for height in heights], fontsize=8, padding=1)
    ax.set_xticks(range(len(labels)), labels)
    beside(ax)


def plain(title: str, ylabel: str) -> tuple[Any, Any]:
    """An empty chart."""
    figure, ax = plt.subplots(figsize=WIDE, layout="constrained")
    ax.set_title(title, loc="left", fontsize=11)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def upserts(figures: Figures, settings: Settings) -> Any:
    """Seconds by part, on a logarithmic scale."""
    parts = settings.fractions
    columns = {s: [figures.seconds(f"upsert/{p}", s) for p in parts] for s in COLORS}
    kept = {system: values for system, values in columns.items() if any(values)}
    title = f"Seconds of an upsert into {settings.base.total:,} rows: less is better"
    figure, ax = plain(title, "seconds, logarithmic")
    bars(ax, parts, kept, shown=short)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("part of the rows that changes")
    return figure


def merges(figures: Figures, settings: Settings) -> Any:
    """Million rows per second by engine."""
    name = settings.main.name
    columns: dict[str, list[float | None]] = {system: [] for system in READERS}
    for engine in ENGINES:
        for system, values in columns.items():
            case = f"scan/{name}" if system == "plain" else f"merge/{engine}/{name}"
            rate = figures.rate(case, system)
            values.append(rate and rate / 1e6)
    figure, ax = plain("Merge-on-read of 4 overlapping runs", "million rows per second")
    bars(ax, list(ENGINES), columns, READERS)
    return figure


def rate(figures: Figures, system: str, shape: Shape) -> float:
    """Million rows per second of a system's read of a table."""
    scan = f"scan/{shape.name}"
    case = scan if system == "plain" else f"merge/deduplicate/{shape.name}"
    return (figures.rate(case, system) or float("nan")) / 1e6


def lines(ax: Any, shapes: Mapping[str, Shape], found: Mapping[str, Sequence[float]]) -> None:
    """A line for each system; those without Spark are dashed."""
    for system, values in found.items():
        style = "--" if system in ALONE else "-"
        color, words = COLORS[system], READERS[system]
        ax.plot(range(len(shapes)), values, style, marker="o", label=words, color=color)
    ax.set_xticks(range(len(shapes)), list(shapes))


def runs(figures: Figures, settings: Settings) -> Any:
    """Million rows per second as the number of runs grows."""
    shapes = settings.sweeps["runs"]
    figure, ax = plain("Merge-on-read by number of runs", "million rows per second")
    found = {s: [rate(figures, s, shape) for shape in shapes.values()] for s in READERS}
    lines(ax, shapes, found)
    ax.set_xlabel("runs")
    ax.set_ylim(bottom=0)
    beside(ax)
    return figure


def width(figures: Figures, settings: Settings) -> Any:
    """How many times as fast as Spark's scan, as columns are added: at the right who is ahead in
    the widest table.
    """
    shapes = settings.sweeps["width"]
    figure, ax = plain(
        "Merge-on-read by columns: times as fast as Spark scans all rows", "times, logarithmic"
    )
    found = {
        system: [rate(figures, system, s) / rate(figures, "plain", s) for s in shapes.values()]
        for system in READERS
    }
    lines(ax, shapes, found)
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("columns")
    # Labels in the order of the last points, none on top of another.
    measured = [system for system in READERS if isfinite(found[system][-1])]
    ordered = sorted(measured, key=lambda system: found[system][-1])
    place = 0.0
    for system in ordered:
        last = found[system][-1]
        place = max(last, place * LABEL_GAP)
        ax.annotate(
            f"{last:.2f}  {READERS[system]}",
            (len(shapes) - 1, last),
            (len(shapes) - 0.9, place),
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": COLORS[system], "relpos": (0, 0.5)},
        )
    return figure


def day(figures: Figures) -> Any:
    """Each commit and look-up, and the disk, over the day."""
    figure, (ax, below) = plt.subplots(
        2, 1, figsize=(9.6, 5.0), sharex=True, layout="constrained", height_ratios=[2, 1]
    )
    ax.set_title("A day of upserts: each commit, and the disk", loc="left", fontsize=11)
    for system in ("keyfold", "paimon", "delta"):
        found = figures.get("day", system)
        if found is None:
            continue
        took = found.series["commit"]
        ax.plot(
            range(1, len(took) + 1),
            took,
            linewidth=0.8,
            label=f"{NAMES[system]}, commit",
            color=COLORS[system],
        )
        below.plot(found.series["point at"], found.series["disk"], color=COLORS[system])
    ours = figures.results["day", "keyfold"].series
    ax.plot(ours["scan at"], ours["scan"], "x", label="keyfold, full read", color="#444444")
    ax.set_yscale("log")
    ax.set_ylabel("seconds")
    below.set_ylabel("MB on disk")
    below.set_xlabel("commits")
    below.set_ylim(bottom=0)
    beside(ax)
    for axes in (ax, below):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    settings = full(TOP)
    draw(stored.figures(TOP / "docs", settings), settings, TOP / "docs")
