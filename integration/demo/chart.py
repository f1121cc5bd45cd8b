"""The demo's picture: what a year of upserts folds to, and what each upsert takes; below it, how
long the batches of its streams take, and how late changes are in what follows them.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from integration.demo import streams
from integration.demo.streams import Batch

mpl.use("Agg")
WRITTEN, KEPT = "#b9c9c2", "#1b6e53"
LINES = {"carrier_days": KEPT, "aircraft": "#2f6fb0", "departures": "#d08a1d"}
STREAMS = {
    streams.DAYS: ("files to carrier_days", KEPT),
    streams.TOTALS: ("its changes to totals", "#d08a1d"),
}


@dataclass
class Course:
    """How the demo went: the seconds of each upsert by table, and the records and rows of
    `carrier_days` at the end of each month; the batches of the streams, when each commit of flights
    was and how late the totals had it, and when the streaming session was killed.
    """

    upserts: dict[str, list[float]] = field(default_factory=dict)
    written: Sequence[int] = ()
    kept: Sequence[int] = ()
    batches: list[Batch] = field(default_factory=list)
    lags: Sequence[tuple[float, float]] = ()
    killed: float = 0.0


def draw(course: Course, path: Path) -> None:
    """Write the picture, as PNG."""
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.4), layout="constrained")
    _folding(axes[0][0], course.written, course.kept)
    _seconds(axes[0][1], course.upserts)
    begin = min(batch.start for batch in course.batches)
    _batches(axes[1][0], course.batches, begin)
    _lags(axes[1][1], course.lags, begin)
    seconds = [batch.seconds for batch in course.batches], [lag for _, lag in course.lags]
    for ax, spent in zip(axes[1], seconds, strict=True):
        _finish(ax, max(spent), course.killed - begin)
    for ax in axes.flat:
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


def _batches(ax: Any, batches: Sequence[Batch], begin: float) -> None:
    """Seconds of each micro-batch, where it began."""
    for table, (label, color) in STREAMS.items():
        found = [batch for batch in batches if batch.table == table]
        places = [batch.start - begin for batch in found]
        spent = [batch.seconds for batch in found]
        ax.scatter(places, spent, color=color, s=10, label=f"{label}: {len(found)} batches")
    _headed(ax, "seconds of a micro-batch")


def _lags(ax: Any, lags: Sequence[tuple[float, float]], begin: float) -> None:
    """How late the changes of each commit were in the totals."""
    ax.scatter([time - begin for time, _ in lags], [lag for _, lag in lags], color=KEPT, s=10)
    _headed(ax, "seconds from a commit to the totals with its changes")


def _headed(ax: Any, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=10)
    ax.set_xlabel("seconds since the first batch", fontsize=8)


def _finish(ax: Any, most: float, killed: float) -> None:
    """A line where the session was killed, and a legend above all points."""
    ax.axvline(killed, color="#999999", linewidth=1, linestyle=":", label="kill -9 of the JVM")
    ax.set_ylim(0, 1.5 * most)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
