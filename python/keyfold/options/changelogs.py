"""Options of changelogs that mean something together only.

The level of a file says whether its changes are in the changelog, as in Paimon. Under `lookup` a
compaction writes the changes of the files that it takes from level 0, under `full-compaction` those
of all files that it takes to the highest level. So changes are written once, by whichever job
compacts the files first, one of Paimon's Java among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keyfold.errors import TableError
from keyfold.options.declared import VECTORS, TableOptions
from keyfold.wire.layout import TableLayout

_COUNTS = (TableOptions.delta_commits, TableOptions.changelog_interval)
NONE, INPUT, LOOKUP, FULL_COMPACTION = "none", "input", "lookup", "full-compaction"
_COMPARE = (LOOKUP, FULL_COMPACTION)


@dataclass(frozen=True)
class ChangelogRetention:
    """The snapshots whose changes are kept, as `snapshot.num-retained` and so on say for snapshots;
    `is_longer`: changes stay when their snapshots expire.
    """

    at_least: int
    at_most: int
    seconds: float
    is_longer: bool

    @staticmethod
    def of(options: TableOptions) -> ChangelogRetention:
        """The retention of the table's options; those not named are as for snapshots."""
        own = (
            options.changelogs_at_least or options.snapshots_at_least,
            options.changelogs_at_most or options.snapshots_at_most,
            options.snapshot_seconds
            if options.changelog_seconds is None
            else options.changelog_seconds,
        )
        of_snapshots = (
            options.snapshots_at_least,
            options.snapshots_at_most,
            options.snapshot_seconds,
        )
        is_longer = any(mine > theirs for mine, theirs in zip(own, of_snapshots, strict=True))
        return ChangelogRetention(*own, is_longer)


def check_changelog(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError if options of the changelog contradict one another."""
    table, kept = layout.name, ChangelogRetention.of(options)
    if kept.at_most < kept.at_least:
        raise TableError(
            f"table {table}: changelog.num-retained.max ({kept.at_most}) must not be less than "
            f"changelog.num-retained.min ({kept.at_least}); set both"
        )
    if kept.is_longer and options.changelog_producer == "none":
        raise TableError(
            f"table {table}: changelog.num-retained.min, .max or changelog.time-retained keeps "
            "changes longer than snapshots, but changelog-producer = none makes no changelog; set "
            "it to input, lookup or full-compaction"
        )
    for names, producers in _needs(options, layout.options):
        if names and options.changelog_producer not in producers:
            raise TableError(
                f"table {table}: {names[0]} needs changelog-producer = {' or '.join(producers)}, "
                f"found '{options.changelog_producer}'"
            )
    named = _comparing(options)
    if len(named) > 1:
        raise TableError(
            f"table {table}: {named[1]} names columns that make no change, but {named[0]} emits "
            "updates to equal values: set one of them"
        )


def _needs(
    options: TableOptions, given: Mapping[str, str]
) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Options that are set, and the producers that heed them."""
    yield [option.name for option in _COUNTS if option.name in given], (FULL_COMPACTION,)
    yield [VECTORS] if options.has_vectors else [], (NONE, INPUT, LOOKUP)
    waits = options.lookup_wait or options.has_vectors
    yield [] if waits else [f"{TableOptions.lookup_wait.name} = false"], (LOOKUP,)
    of_images = [f"{TableOptions.changelog_image.name} = wal"]
    yield [] if options.changelog_image == "full" else of_images, _COMPARE
    for option in (TableOptions.changelog_drops_before, TableOptions.changelog_drops_deletes):
        yield [f"{option.name} = true"] if options[option] else [], _COMPARE
    yield _comparing(options), _COMPARE


def _comparing(options: TableOptions) -> list[str]:
    """The options of how producers compare rows that say more than is the rule."""
    ignored = [TableOptions.changelog_ignored.name] if options.changelog_ignored else []
    every = f"{TableOptions.changelog_deduplicates.name} = false"
    return ignored if options.changelog_deduplicates else [every, *ignored]


def changelog_level(options: TableOptions) -> int:
    """The least level of files whose changes are in the changelog; 0 if those of all levels are."""
    if options.changelog_producer == LOOKUP:
        return 1
    if options.changelog_producer == FULL_COMPACTION:
        return options.highest_level
    return 0


def takes_level_0(options: TableOptions) -> bool:
    """Whether a write leaves no file on level 0."""
    return options.engine.hides_level_0 or _waits(options)


def is_awaited(options: TableOptions) -> bool:
    """Whether a write waits for the compaction that follows it, and repeats it after a conflict."""
    return _waits(options) or options.changelog_producer == FULL_COMPACTION


def _waits(options: TableOptions) -> bool:
    """Whether a write waits for what a compaction looks up: changes, or rows to mark."""
    looks_up = options.changelog_producer == LOOKUP or options.has_vectors
    return looks_up and options.lookup_wait
