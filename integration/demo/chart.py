"""The demo's picture: what a year of upserts folds to, and what each upsert takes."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

mpl.use("Agg")
WRITTEN, KEPT = "#b9c9c2", "#1b6e53"
LINES = {"carrier_days": KEPT, "aircraft": "#2f6fb0", "departures": "#d08a1d"}


@dataclass
class Course:
    """How the demo went: the seconds of each upsert by table, and the records and rows of
    `carrier_days` at the end of each month.
    """

    upserts: dict[str, list[float]] = field(default_factory=dict)
    written: Sequence[int] = ()
    kept: Sequence[int] = ()


def draw(course: Course, path: Path) -> None:
    """Write the picture, as PNG."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    _folding(left, course.written, course.kept)
    _seconds(right, course.upserts)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": ""})
    plt.close(figure)


def _folding(ax: Any, written: Sequence[int], kept: Sequence[int]) -> None:
    """Records that were upserted, and the rows they are."""
    months = range(1, len(written) + 1)
    ax.bar(months, written, color=WRITTEN, label=f"flights upserted: {written[-1]:,}")
    ax.bar(months, kept, color=KEPT, label=f"rows of the table: {kept[-1]:,}")
    ax.set_xticks(months, [calendar.month_abbr[month] for month in months])
    ax.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f} k")
    ax.set_title("carrier_days: a row per carrier and day", loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="upper left")


def _seconds(ax: Any, upserts: dict[str, list[float]]) -> None:
    """Seconds of one upsert, from the first to the last."""
    for table, color in LINES.items():
        seconds = upserts[table]
        places = [100 * number / len(seconds) for number in range(1, len(seconds) + 1)]
        label = f"{table}: {len(seconds)} upserts"
        ax.plot(places, seconds, color=color, marker="o", markersize=3, linewidth=1, label=label)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    ax.set_xlabel("of the year's upserts are in the table", fontsize=8)
    ax.set_title("seconds of an upsert, as the tables grow", loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
