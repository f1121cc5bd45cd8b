"""The style sheet of the site: links, headings and bars are told from what is behind them."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

SHEET = Path(__file__).resolve().parents[1] / "site" / "site.css"
WHITE, SLATE = "#ffffff", "#1e2129"  # the pages of mkdocs-material, light and dark
LEAST = 4.5


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(color[begin:end], 16) / 255 for begin, end in pairwise((1, 3, 5, 7))]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_contrast_of_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#4caf50", "#ffffff") < 3


def test_colors_have_contrast() -> None:
    """The bar behind its title; links on the page of either theme, and on the gray of code."""
    text = SHEET.read_text(encoding="utf-8")
    (bar,) = re.findall(r"--md-primary-fg-color: (#\w{6});", text)
    light, dark = re.findall(r"--md-typeset-a-color: (#\w{6});", text)
    for one, other in ((bar, WHITE), (light, WHITE), (light, "#f5f5f5"), (dark, SLATE)):
        assert contrast(one, other) >= LEAST, (one, other)
