"""Parts of docs/benchmarks.md: tables, and what stands in their cells."""

from __future__ import annotations

from collections.abc import Sequence

from integration.bench.measure import Result


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def cell(result: Result | None, repeat: int) -> str:
    """Median (least-greatest) / cold."""
    if result is None or result.times is None:
        return "-"
    warm = result.times.warm
    few = "⁰¹²³⁴"[len(warm)] if len(warm) < min(repeat, 5) else ""
    if len(warm) < 2:
        return f"{short(result.median)}{few} / {short(result.times.cold)}"
    spread = f"{short(min(warm))}-{short(max(warm))}"
    return f"{short(result.median)}{few} ({spread}) / {short(result.times.cold)}"


def short(seconds: float) -> str:
    """Three digits or so."""
    limits = ((0.001, 5), (0.1, 3), (10, 2))
    digits = next((digits for limit, digits in limits if seconds < limit), 1)
    return f"{seconds:.{digits}f}"


def times(ratio: float | None) -> str:
    """A ratio."""
    return "-" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def millions(rate: float | None) -> str:
    """Rows per second."""
    return "-" if rate is None else f"{rate / 1e6:.1f}"


def picture(pictures: dict[str, str], name: str, title: str) -> str:
    """A link to a chart, where there is one."""
    return f"![{title}]({pictures[name]})\n\n" if name in pictures else ""
