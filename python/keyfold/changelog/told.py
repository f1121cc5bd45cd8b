"""The part of a snapshot that the changelog has told: the level of a file says so, as in Paimon.

Under `lookup` a compaction tells the changes of the files that it takes from level 0, under
`full-compaction` those of all files that it takes to the highest level. So the changes that files
make are told once, by whichever job compacts them first, one of Paimon's Java among them.
"""

from __future__ import annotations

from keyfold.options import TableOptions

NONE, INPUT, LOOKUP, FULL_COMPACTION = "none", "input", "lookup", "full-compaction"


def told_from(options: TableOptions) -> int:
    """The least level whose files the changelog has told; 0 if it has told those of all levels."""
    if options.changelog_producer == LOOKUP:
        return 1
    if options.changelog_producer == FULL_COMPACTION:
        return (options.levels or options.compaction_trigger + 1) - 1
    return 0
