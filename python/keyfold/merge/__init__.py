"""Merging: rows of one key fold by the table's merge engine; every engine is a plan over order,
group, column results.
"""

from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import MergePlan, check, plan
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun, sequences_overlap

__all__ = [
    "MergePlan",
    "SortedRun",
    "check",
    "fold_unsorted",
    "merge_runs",
    "plan",
    "sequences_overlap",
]
