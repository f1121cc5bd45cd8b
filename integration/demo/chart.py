"""The demo's picture: the flights that were upserted in a year, and the rows that they fold to."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from integration import pictures

WRITTEN, KEPT = "#8fb3a6", "#1b6e53"


def draw(written: Sequence[int], kept: Sequence[int], path: Path) -> None:
    """Write the picture, as PNG: records and rows of `carrier_days` at the end of each month."""
    pictures.save(partial(_folding, written, kept), path, is_in_readme=True)


def _folding(written: Sequence[int], kept: Sequence[int]) -> Any:
    figure, ax = plt.subplots(figsize=(9.6, 3.6), layout="constrained")
    months = range(1, len(written) + 1)
    ax.fill_between(months, written, color=WRITTEN, alpha=0.5, linewidth=0)
    ax.plot(months, written, color=WRITTEN, linewidth=2)
    ax.fill_between(months, kept, color=KEPT, linewidth=2, edgecolor=KEPT)
    ax.set_title(
        f"{written[-1] / kept[-1]:.0f} flights fold into each row: one per carrier and day",
        loc="left",
        fontsize=12,
    )
    ends = ((written[-1], "flights upserted", "top"), (kept[-1], "rows of the table", "bottom"))
    for count, words, side in ends:
        ax.annotate(
            f"{count:,}\n{words}",
            (months[-1], count),
            (8, 0),
            textcoords="offset points",
            va=side,
            annotation_clip=False,
        )
    ax.set_xticks(months, [calendar.month_abbr[month] for month in months])
    ax.set_xlim(months[0], months[-1])
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f} k")
    ax.spines[["top", "right"]].set_visible(False)
    return figure
