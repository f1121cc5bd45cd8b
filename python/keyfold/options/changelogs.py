"""Options of changelogs that mean something together only."""

from dataclasses import dataclass

from keyfold.errors import TableError
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout


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
    def of(options: TableOptions) -> "ChangelogRetention":
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
    is_counted = "full-compaction.delta-commits" in layout.options
    if is_counted and options.changelog_producer != "full-compaction":
        raise TableError(
            f"table {table}: full-compaction.delta-commits counts commits for changelog-producer = "
            f"full-compaction, found '{options.changelog_producer}'"
        )
    if options.changelog_ignored and options.changelog_producer not in (
        "lookup",
        "full-compaction",
    ):
        raise TableError(
            f"table {table}: changelog-producer.row-deduplicate-ignore-fields needs "
            "changelog-producer = lookup or full-compaction, which compare rows, found "
            f"'{options.changelog_producer}'"
        )
