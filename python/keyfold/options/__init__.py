"""Table options: declared once, translated from other systems' spellings, parsed, checked.

This file names the API for other rooms. `normalize` translates Fluss' and older Paimon's names.
`check_create` refuses unknown and unsupported options. `parse` ignores unknown names, for tables
that other engines made.
"""

from keyfold.options.checks import check_change, check_create, check_option, check_ordered
from keyfold.options.declared import (
    DEFAULT_BUCKETS,
    DEFAULT_PREFIX,
    FIELD_OPTIONS,
    INITIAL_PREFIX,
    KEY_NULLABLE,
    PIPELINES_PREFIX,
    TAG_CREATION_ELSEWHERE,
    TAG_PERIODS,
    TAG_PREFIX,
    TableOptions,
    known,
)
from keyfold.options.names import FIELD, is_fixed, may_differ, normalize
from keyfold.options.option import Option, optional
from keyfold.options.parsing import parse

__all__ = [
    "DEFAULT_BUCKETS",
    "DEFAULT_PREFIX",
    "FIELD",
    "FIELD_OPTIONS",
    "INITIAL_PREFIX",
    "KEY_NULLABLE",
    "PIPELINES_PREFIX",
    "TAG_CREATION_ELSEWHERE",
    "TAG_PERIODS",
    "TAG_PREFIX",
    "Option",
    "TableOptions",
    "check_change",
    "check_create",
    "check_option",
    "check_ordered",
    "is_fixed",
    "known",
    "may_differ",
    "normalize",
    "optional",
    "parse",
]
