"""The notes of a release: the section of CHANGELOG.md whose heading names the version."""

from __future__ import annotations

import re

DATED = re.compile(r"\d{4}-\d\d-\d\d")


def section(changelog: str, version: str) -> tuple[str, str]:
    """(heading, text) of the version's section."""
    parts = re.split(r"^## (.*)$", changelog, flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    named = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])")
    found = [heading for heading in sections if named.search(heading)]
    if len(found) != 1:
        raise SystemExit(
            f"CHANGELOG.md has {len(found)} sections for version {version} of gradle.properties, "
            f"expected 1 among: {', '.join(sections)}"
        )
    return found[0], sections[found[0]].strip() + "\n"


def undated(heading: str) -> str | None:
    """What is missing in the heading of a version that is published."""
    if DATED.search(heading) and "unreleased" not in heading.lower():
        return None
    return f"CHANGELOG.md: '## {heading}' has no date; write '## [version] - YYYY-MM-DD'"
