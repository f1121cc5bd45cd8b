"""Table options: declared once, translated from other systems' spellings, parsed, checked.

What the rest of keyfold asks of them stands here. `normalize` translates Fluss' and older Paimon's
names, `check_create` refuses what is unknown or not supported; `parse` passes over unknown names,
for tables other engines made.
"""

from keyfold.options.checks import check_change, check_create, check_option, check_ordered
from keyfold.options.declared import (
    DEFAULT_BUCKETS,
    EXPIRE_LIMIT,
    FIELD_DEFAULT_AGGREGATE,
    FIELD_OPTIONS,
    KEY_NULLABLE,
    OPTIONS,
    Option,
)
from keyfold.options.names import (
    DEFAULT_PREFIX,
    FIELD,
    FIELD_NAMING,
    FIELD_NESTED,
    INITIAL_PREFIX,
    NAMING,
    TAG_PREFIX,
    normalize,
)
from keyfold.options.typed import FIRST_ROW, FOLDING, KEEPING, TableOptions, parse

__all__ = [
    "DEFAULT_BUCKETS",
    "DEFAULT_PREFIX",
    "EXPIRE_LIMIT",
    "FIELD",
    "FIELD_DEFAULT_AGGREGATE",
    "FIELD_NAMING",
    "FIELD_NESTED",
    "FIELD_OPTIONS",
    "FIRST_ROW",
    "FOLDING",
    "INITIAL_PREFIX",
    "KEEPING",
    "KEY_NULLABLE",
    "NAMING",
    "OPTIONS",
    "TAG_PREFIX",
    "Option",
    "TableOptions",
    "check_change",
    "check_create",
    "check_option",
    "check_ordered",
    "normalize",
    "parse",
]
