"""Key and options that a DataFrame's writer names for an existing table: `saveAsTable` and `save`
name them as for a new one, each time that a job runs.

Appending, and overwriting by `save`, don't change them: the writer must name what the table has.
Overwriting by `saveAsTable` makes the table anew. It keeps the key, the partitioning and those
options that are not named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from keyfold.errors import KeyfoldError, TableError
from keyfold.options import fluss
from keyfold.options.checks import check_option
from keyfold.options.declared import DEFAULT_PREFIX
from keyfold.options.names import normalize
from keyfold.options.parsing import parse
from keyfold.storage.schema.column_references import spelling_of
from keyfold.storage.schema.definition import Check, NewTable, define, listed
from keyfold.storage.schema.schemas import StoredSchema
from keyfold.wire.layout import TableLayout

_ANEW = "to define the table anew, use writeTo(…).tableProperty('primary-key', …).createOrReplace()"


def redefine(old: TableLayout, new: NewTable, check_engine: Check) -> StoredSchema:
    """The first schema of the table that replaces one and keeps its key and options.

    Raises TableError or NotSupportedError if the new columns lack what key and options name.
    """
    given = dict(new.properties or {})
    named = listed(given.pop("primary-key", None)) or new.primary_key
    _check_same(old, "primary-key", named, old.primary_key, _ANEW)
    _check_same(old, "partitioning", new.partitioning or None, old.partition_keys, _ANEW)
    kept = {n: text for n, text in old.options.items() if not n.startswith(DEFAULT_PREFIX)}
    described = {} if old.comment is None else {"comment": old.comment}
    stated: dict[str, str] = {
        n: given[n] for n in ("comment", "location", "path", "external") if n in given
    }
    options = spelling_of(column["name"] for column in new.columns).in_options(
        normalize({n: text for n, text in given.items() if n not in stated})
    )
    whole = replace(
        new,
        primary_key=old.primary_key,
        partitioning=old.partition_keys,
        properties={**kept, **options, **described, **stated},
    )
    try:
        return define(old.name, old.location, whole, check_engine)
    except KeyfoldError as error:
        raise type(error)(f"{error}; overwriting keeps key and options: {_ANEW}") from None


def check_given(
    layout: TableLayout,
    properties: Mapping[str, str],
    partitioning: Sequence[str],
    check_engine: Check,
) -> None:
    """Raises TableError if a writer names key, partitioning or an option that the table has not. A
    name that is not an option is refused as at CREATE.
    """
    given = fluss.heeded(properties, {column.name.lower() for column in layout.columns})
    advice = "leave it out, or name what the table has"
    named = listed(given.pop("primary-key", None))
    _check_same(layout, "primary-key", named, layout.primary_key, advice)
    _check_same(layout, "partitioning", tuple(partitioning) or None, layout.partition_keys, advice)
    spelling = spelling_of(column.name for column in layout.columns)
    for name, text in spelling.in_options(normalize(given)).items():
        check_option(layout, name, text)
        stored = replace(layout, options={**layout.options, name: text})
        if parse(check_engine(stored, None)) != parse(layout):
            has = layout.options.get(name)
            raise TableError(
                f"table {layout.name} has {name} {'not set' if has is None else f'= {has}'}, and "
                f"the call says {text}: {advice}, or set it first: ALTER TABLE, "
                "writeTo(…).tableProperty, in Python table.alter(options=…)"
            )


def _check_same(
    layout: TableLayout, what: str, named: Sequence[str] | None, has: Sequence[str], advice: str
) -> None:
    if named is not None and [n.lower() for n in named] != [n.lower() for n in has]:
        raise TableError(
            f"table {layout.name} has {what} ({', '.join(has)}), and the call says "
            f"({', '.join(named)}): {advice}"
        )
