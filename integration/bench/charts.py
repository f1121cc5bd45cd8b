"""The charts of docs/benchmarks.md, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from integration.bench.cases import ENGINES, Settings
from integration.bench.data import Shape
from integration.bench.figures import NAMES, Figures

mpl.use("Agg")
COLORS = {
    "keyfold": "#1b6e53",
    "plain": "#8a8a8a",
    "window": "#c9c9c9",
    "delta": "#2f6fb0",
    "paimon": "#d08a1d",
    "paimon-spark": "#a3670c",
    "reader": "#63b598",
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


def draw(figures: Figures, settings: Settings, docs: Path) -> dict[str, str]:
    """All charts that there are figures for: name and file."""
    found = {
        "upserts": upserts(figures, settings),
        "merges": merges(figures, settings),
        **{name: sweep(figures, settings, name) for name in ("runs", "width")},
        "day": day(figures),
    }
    files = {}
    for name, figure in found.items():
        if figure is not None:
            files[name] = f"benchmarks-{name}.png"
            figure.savefig(docs / files[name], dpi=110, metadata={"Software": ""})
            plt.close(figure)
    return files


def beside(ax: Any) -> None:
    """The legend, to the right of what it explains."""
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def bars(
    ax: Any,
    labels: Sequence[str],
    columns: dict[str, list[float | None]],
    names: Mapping[str, str] = NAMES,
) -> None:
    """Groups of bars, one color a system."""
    width = 0.8 / max(len(columns), 1)
    for number, (system, values) in enumerate(columns.items()):
        places = [place - 0.4 + width * (number + 0.5) for place in range(len(labels))]
        heights = [value or 0.0 for value in values]
        ax.bar(places, heights, width * 0.92, label=names[system], color=COLORS[system])
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
    if "keyfold" not in kept:
        return None
    figure, ax = plain(f"Upsert of a part of {settings.base.total:,} rows", "seconds")
    bars(ax, parts, kept)
    ax.set_yscale("log")
    return figure


def merges(figures: Figures, settings: Settings) -> Any:
    """Million rows a second by engine."""
    name = settings.main.name
    columns: dict[str, list[float | None]] = {system: [] for system in READERS}
    for engine in ENGINES:
        for system, values in columns.items():
            case = f"scan/{name}" if system == "plain" else f"merge/{engine}/{name}"
            rate = figures.rate(case, system)
            values.append(rate and rate / 1e6)
    if not any(columns["keyfold"]):
        return None
    figure, ax = plain("Merge-on-read of 4 overlapping runs", "million rows a second")
    bars(ax, list(ENGINES), columns, READERS)
    return figure


def sweep(figures: Figures, settings: Settings, name: str) -> Any:
    """Million rows a second as one thing varies."""
    shapes = settings.sweeps[name]
    titles = {"runs": "Merge-on-read by number of runs", "width": "Merge-on-read by columns"}
    figure, ax = plain(titles[name], "million rows a second")

    def rate(system: str, shape: Shape) -> float:
        scan = f"scan/{shape.name}"
        case = scan if system == "plain" else f"merge/deduplicate/{shape.name}"
        return (figures.rate(case, system) or float("nan")) / 1e6

    for system, words in READERS.items():
        rates = [rate(system, shape) for shape in shapes.values()]
        style = "--" if system in ALONE else "-"
        ax.plot(range(len(shapes)), rates, style, marker="o", label=words, color=COLORS[system])
    ax.set_xticks(range(len(shapes)), list(shapes))
    ax.set_xlabel(name)
    ax.set_ylim(bottom=0)
    beside(ax)
    return figure


def day(figures: Figures) -> Any:
    """Each commit and look-up, and the disk, over the day."""
    if figures.get("day", "keyfold") is None:
        return None
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
