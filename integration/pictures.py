"""Pictures of README.md and docs/: saved for pages of white, and for those of a dark theme if the
README shows them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

mpl.use("Agg")
INK, BACK = "#e6edf3", "#0d1117"
DARK: Mapping[str, Any] = {
    "figure.facecolor": BACK,
    "axes.facecolor": BACK,
    "savefig.facecolor": BACK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def save(draw: Callable[[], Any], path: Path, is_in_readme: bool = False) -> None:
    """The figure that `draw` makes as a PNG, and as another one with `-dark` behind its name."""
    themes: dict[Path, Mapping[str, Any]] = {path: {}}
    if is_in_readme:
        themes[path.with_stem(f"{path.stem}-dark")] = DARK
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, theme in themes.items():
        with mpl.rc_context(dict(theme)):
            figure = draw()
            figure.savefig(file, dpi=110, metadata={"Software": ""})
            plt.close(figure)
