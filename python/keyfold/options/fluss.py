"""Fluss' table options in Paimon's words: engines, the version column, the effect of deletes.

Options that Paimon has no word for stay as they are, and Paimon ignores them:
`table.delete.behavior` and `table.merge-engine.versioned.ver-column`. A second translation changes
nothing.
"""

import re
from collections.abc import Container, Iterable, Mapping

from keyfold.errors import TableError
from keyfold.options.engines import Traits, called, default, traits
from keyfold.options.values import shown
from keyfold.types.logical import DataType, describe, name_of

ENGINE = "table.merge-engine"
BEHAVIOR = "table.delete.behavior"
VERSION = "table.merge-engine.versioned.ver-column"
IMAGE = "table.changelog.image"
LOG_TTL = "table.log.ttl"
PARTIAL = "keyfold.partial-insert"
_WORDS = ("bucket.num", "bucket.key")  # Fluss' names for what other systems name in another way
# Options of rows that no table of Fluss without an engine has.
_NOT_PLAIN = ("merge-engine", "sequence.field", "rowkind.field", "sequence.snapshot-ordering")
TRANSLATED = (ENGINE, LOG_TTL)  # which are not stored themselves
PRODUCER, RETAINED = "changelog-producer", "changelog.time-retained"
_VERSIONED = "versioned"

# Names of Fluss that we lack.
_NAMES = """
table.datalake.auto-compaction
table.datalake.auto-expire-snapshot table.datalake.enabled table.datalake.format
table.datalake.freshness table.datalake.historical-partition.enabled
"""
# Those that only tune its servers and their copies of a table, which have no effect here.
_TUNING = """
table.kv.format table.kv.format-version table.kv.standby-replica.enabled
table.log.arrow.compression.type table.log.arrow.compression.zstd.level table.log.format
table.log.local-ttl table.log.tiered.local-segments table.replication.factor
table.statistics.columns
"""
TUNING = frozenset(_TUNING.split())
OPTIONS = frozenset(_NAMES.split()) | TUNING


# The name of a column's function, and of its one parameter: `fields.x.listagg.delimiter`, in older
# documents `fields.x.delimiter`.
_FUNCTION = re.compile(r"fields\.(.+)\.agg|fields\.((.+)\.[\w-]+|.+)\.delimiter", re.IGNORECASE)


def heeded(properties: Mapping[str, str], columns: Container[str]) -> dict[str, str]:
    """The options without those Fluss ignores if `table.merge-engine` is given: functions of
    missing columns, and all functions under an engine that folds no columns.

    `columns` are names in lower case. Source: FlinkAggFunctionParser, which asks for each column of
    an aggregation table whether it has a function.
    """
    engine = properties.get(ENGINE)
    if engine is None:
        return dict(properties)
    folds = called("Fluss").get(engine.strip().lower(), default()).folds_columns
    kept = {}
    for name, text in properties.items():
        found = _FUNCTION.fullmatch(name)
        named = () if found is None else [part for part in found.groups() if part is not None]
        if found is None or (folds and any(part.lower() in columns for part in named)):
            kept[name] = text
    return kept


def translate(given: Mapping[str, str]) -> dict[str, str]:
    """The options, in stored spelling, that Fluss' options among `given` mean."""
    return _changelog(given) | _rows(given)


def _changelog(given: Mapping[str, str]) -> dict[str, str]:
    """The options of the changelog, which every table of Fluss has: images of both rows, unless
    another producer is named.
    """
    made = {PRODUCER: "lookup"} if IMAGE in given or LOG_TTL in given else {}
    if LOG_TTL in given:
        made[RETAINED] = given[LOG_TTL]
    return {name: text for name, text in made.items() if name not in given}


def _rows(given: Mapping[str, str]) -> dict[str, str]:
    engine = _engine(given)
    behavior = given.get(BEHAVIOR)
    if engine is None and behavior is None:
        return {}
    if behavior is None:
        behavior = "allow" if engine is None else "ignore"
    behavior = behavior.strip().lower()
    stored = {BEHAVIOR: behavior}
    if engine is not None:
        stored["merge-engine"] = called("Fluss")[engine].name
    if engine == _VERSIONED:
        stored["sequence.field"] = _version_column(given)
    return stored | _deletes(engine, _stored_engine(given), behavior)


def inserts(
    given: Mapping[str, str], stored: Mapping[str, str], can_lack: Iterable[bool]
) -> dict[str, str]:
    """The option by which an INSERT of some columns leaves the others alone, for a new table whose
    options are given in Fluss' words, with no engine. `can_lack` says of each column outside the
    key whether a row may lack it there, which is NULL and has no DEFAULT.
    """
    names = {name.lower() for name in given}
    is_plain = not any(name in stored for name in _NOT_PLAIN)
    is_meant = is_plain and any(word in names for word in _WORDS) and all(can_lack)
    return {PARTIAL: "true"} if is_meant and PARTIAL not in stored else {}


def engine_name(engine: Traits, version_column: str | None) -> str:
    """Fluss' name for the engine of a table, whether or not Fluss has it."""
    return engine.name.replace("-", "_") if version_column is None else _VERSIONED


def _engine(given: Mapping[str, str]) -> str | None:
    """Fluss' name of the engine; None if neither it nor a version column is given."""
    text = given.get(ENGINE)
    if text is None:
        version = given.get(VERSION)
        if version is not None and given.get("sequence.field") != version:
            raise TableError(f"option {VERSION} belongs to {ENGINE} = versioned, which is not set")
        return None if version is None else _VERSIONED
    engine = text.strip().lower()
    known = called("Fluss")
    if engine not in known:
        raise TableError(
            f"option {ENGINE}: Unsupported merge engine type: {shown(text)}. "
            f"Expected one of {', '.join(known)}"
        )
    if VERSION in given and engine != _VERSIONED:
        raise TableError(f"option {VERSION} belongs to {ENGINE} = versioned, found '{text}'")
    if known[engine].folds_columns and given.get(IMAGE, "").strip().lower() == "wal":
        raise TableError(
            f"option {IMAGE}: Table with '{engine.upper()}' merge engine does not support 'WAL' "
            "changelog image mode. Expected FULL"
        )
    return engine


def _version_column(given: Mapping[str, str]) -> str:
    version = given.get(VERSION, "").strip()
    if not version:
        raise TableError(f"'{VERSION}' must be set for versioned merge engine.")
    return version


def _stored_engine(given: Mapping[str, str]) -> Traits:
    name = given.get("merge-engine")
    return default() if name is None else traits(name.strip().lower())


def _deletes(engine: str | None, stored: Traits, behavior: str) -> dict[str, str]:
    """The options for deletes. -U, which Fluss never stores, is dropped unless rows simply replace
    each other.
    """
    if behavior == "ignore":
        return {"ignore-delete": "true"}
    if behavior == "disable":
        return {"ignore-update-before": "true"}
    if behavior != "allow":
        return {}
    found = stored if engine is None else called("Fluss")[engine]
    if engine != _VERSIONED and found.fluss_deletes is not None:
        return found.fluss_deletes
    name = (engine or found.name).upper().replace("-", "_")
    raise TableError(
        f"Table with '{name}' merge engine does not support delete operations. The '{BEHAVIOR}' "
        "config must be set to 'ignore' or 'disable', but got 'allow'."
    )


# The types that Fluss' max and min take; Paimon's take all types that can be compared.
_ORDERED = (
    *("CHAR", "STRING", "VARCHAR", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    *("DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"),
)


def check_functions(
    table: str, properties: Mapping[str, str], columns: Mapping[str, DataType], key: tuple[str, ...]
) -> None:
    """Raises TableError if Fluss refuses what Paimon takes under its own name for
    `fields.<column>.agg`: a function of a key column, max and min of types without an order there.
    """
    given = {name.lower(): text.strip().lower() for name, text in properties.items()}
    for column, kind in columns.items():
        option = f"fields.{column}.agg"
        function = given.get(option.lower())
        if function is not None and column in key:
            raise TableError(
                f"table {table}, option {option}: Cannot set aggregation function for "
                f"primary key column '{column}'. Primary key columns keep their value"
            )
        is_ordered = name_of(kind) in _ORDERED
        if function in ("max", "min") and not is_ordered:
            raise TableError(
                f"table {table}, option {option}: Data type for {function} column must be part of "
                f"[{', '.join(_ORDERED)}] but was '{describe(kind)}'. Paimon's name of the option, "
                f"fields.{column}.aggregate-function, takes more types"
            )
