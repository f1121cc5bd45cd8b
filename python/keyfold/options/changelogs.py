"""Options of changelogs that mean something together only.

The level of a file says whether the changelog has told its changes, as in Paimon. Under `lookup` a
compaction tells the changes of the files that it takes from level 0, under `full-compaction` those
of all files that it takes to the highest level. So changes are told once, by whichever job compacts
the files first, one of Paimon's Java among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keyfold.errors import TableError
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout

_COUNTS = (TableOptions.delta_commits, TableOptions.told_interval)
NONE, INPUT, LOOKUP, FULL_COMPACTION = "none", "input", "lookup", "full-compaction"


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
    counted = [option.name for option in _COUNTS if option.name in layout.options]
    if counted and options.changelog_producer != "full-compaction":
        raise TableError(
            f"table {table}: {counted[0]} says when changelog-producer = full-compaction tells "
            f"changes, found '{options.changelog_producer}'"
        )
    named = [name for name, is_used in _comparing(options).items() if is_used]
    if named and options.changelog_producer not in ("lookup", "full-compaction"):
        raise TableError(
            f"table {table}: {named[0]} needs "
            "changelog-producer = lookup or full-compaction, which compare rows, found "
            f"'{options.changelog_producer}'"
        )
    if len(named) > 1:
        raise TableError(
            f"table {table}: {named[1]} names columns that make no change, but {named[0]} tells "
            "updates to equal values: set one of them"
        )


def _comparing(options: TableOptions) -> Mapping[str, bool]:
    """The options of how producers compare rows, and whether they say more than is the rule."""
    return {
        f"{TableOptions.changelog_deduplicates.name} = false": not options.changelog_deduplicates,
        TableOptions.changelog_ignored.name: bool(options.changelog_ignored),
    }


def told_from(options: TableOptions) -> int:
    """The least level whose files the changelog has told; 0 if it has told those of all levels."""
    if options.changelog_producer == LOOKUP:
        return 1
    if options.changelog_producer == FULL_COMPACTION:
        return (options.levels or options.compaction_trigger + 1) - 1
    return 0


def takes_level_0(options: TableOptions) -> bool:
    """Whether a write leaves no file on level 0."""
    is_awaited = options.changelog_producer == LOOKUP and options.lookup_wait
    return options.engine.hides_level_0 or is_awaited


def is_awaited(options: TableOptions) -> bool:
    """Whether a write waits for the compaction that follows it, and repeats it after a conflict."""
    waits = options.changelog_producer == LOOKUP and options.lookup_wait
    return waits or options.changelog_producer == FULL_COMPACTION
