"""CREATE TABLE of Doris and StarRocks: aggregate key tables, and unique or primary key tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from keyfold.dialects import doris_columns
from keyfold.dialects.dialect_types import NO_KEY
from keyfold.dialects.doris_columns import DorisColumn, spark_column
from keyfold.dialects.statement import Header, Statement
from keyfold.dialects.tokens import Cursor, Token
from keyfold.errors import NotSupportedError, TableError
from keyfold.options.engines import called

SYSTEM = "Doris"
HAS_ESCAPES = True  # a backslash in a text
_MODELS = ("AGGREGATE", "UNIQUE", "PRIMARY", "DUPLICATE")
_REPLACES = {"REPLACE", "REPLACE_IF_NOT_NULL"}
_WORDS = {"LARGEINT", "AGG_STATE", "BITMAP_UNION", "HLL_UNION", "REPLACE_IF_NOT_NULL", "PROPERTIES"}
_SEQUENCE, _SEQUENCE_TYPE = "function_column.sequence_col", "function_column.sequence_type"
# Properties of replicas and of how a backend keeps them, on which no result depends.
_PLACEMENT = {
    "replication_num", "replication_allocation", "storage_medium", "storage_cooldown_time",
    "storage_policy", "storage_format", "in_memory", "compression", "light_schema_change",
    "disable_auto_compaction", "enable_single_replica_compaction", "estimate_partition_size",
    "min_load_replica_num", "enable_unique_key_merge_on_write", "enable_persistent_index",
    "replicated_storage", "colocate_with", "bloom_filter_columns", "is_being_synced",
    "inverted_index_storage_format", "file_cache_ttl_seconds", "store_row_column",
    "row_store_columns", "row_store_page_size", "storage_page_size", "compaction_policy",
    "group_commit_interval_ms", "group_commit_data_bytes", "storage_vault_name",
}  # fmt: skip


@dataclass
class _Clauses:
    """The clauses after the columns."""

    model: str | None = None
    key: list[str] = field(default_factory=list)
    partitioning: list[str] = field(default_factory=list)
    partition_kind: str = ""
    hashed: list[str] = field(default_factory=list)
    is_random: bool = False
    buckets: int | None = None
    comment: str | None = None
    properties: dict[str, str] = field(default_factory=dict)


def speaks(tokens: Sequence[Token]) -> bool:
    """Whether the statement has a clause or a type that only Doris has."""
    pairs = list(pairwise(tokens))
    models = (a for a, b in pairs if b.is_word("KEY"))
    has_model = any(a.is_word(m) for a in models for m in ("AGGREGATE", "UNIQUE", "DUPLICATE"))
    is_distributed = any(a.is_word("DISTRIBUTED") and b.is_word("BY") for a, b in pairs)
    is_spark = any(token.is_word(word) for token in tokens for word in ("USING", "TBLPROPERTIES"))
    has_word = any(token.is_word(word) for token in tokens for word in _WORDS)
    return has_model or is_distributed or (has_word and not is_spark)


def read(header: Header, cursor: Cursor, sql: str) -> Statement:
    """The rest of the statement; TableError and NotSupportedError name clause or column."""
    columns = _body(cursor)
    clauses = _clauses(cursor)
    columns = [_spelled_like(column, clauses) for column in columns]
    key = _key(columns, clauses)
    _check_columns(columns, key, clauses)
    properties = _engine(columns, clauses) | _buckets(key, clauses)
    if any(column.is_nullable for column in columns if column.name in key):
        properties["primary-key.nullable"] = "true"
    partitioning = _partitioning(columns, key, clauses)
    return Statement(
        header,
        tuple(map(spark_column, columns)),
        tuple(key),
        tuple(partitioning),
        clauses.comment,
        properties | _properties(clauses),
    )


def _body(cursor: Cursor) -> list[DorisColumn]:
    def column() -> DorisColumn:
        if cursor.sees("INDEX"):
            raise NotSupportedError("the clause INDEX is not supported, leave it out")
        return doris_columns.read(cursor)

    return cursor.listed(column, ends_with_comma=True)


def _clauses(cursor: Cursor) -> _Clauses:
    found = _Clauses()
    while cursor.next.kind != "end":
        model = next((m for m in _MODELS if cursor.accept(m, "KEY")), None)
        if model is not None:
            found.model, found.key = model, cursor.listed(cursor.name)
        elif cursor.accept("ENGINE", "="):
            cursor.name()
        elif cursor.accept("COMMENT"):
            found.comment = cursor.text()
        elif cursor.sees("PARTITION") or cursor.sees("AUTO", "PARTITION"):
            _partition(cursor, found)
        elif cursor.accept("DISTRIBUTED", "BY"):
            _distribution(cursor, found)
        elif cursor.accept("PROPERTIES"):
            found.properties = cursor.properties()
        elif cursor.next.kind == "word" and cursor.next.value.upper() in _UNSUPPORTED:
            raise NotSupportedError(f"the clause {cursor.next.value.upper()} is not supported")
        else:
            cursor.fail("a clause of CREATE TABLE")
    return found


_UNSUPPORTED = {"ROLLUP", "CLUSTER", "ORDER", "AS", "LIKE", "BROKER"}


def _partition(cursor: Cursor, found: _Clauses) -> None:
    cursor.accept("AUTO")
    cursor.expect("PARTITION", "BY")
    found.partition_kind = next((k for k in ("RANGE", "LIST") if cursor.accept(k)), "LIST")
    found.partitioning = cursor.listed(lambda: _partition_column(cursor))
    if cursor.sees("("):
        cursor.skip_parentheses()


def _partition_column(cursor: Cursor) -> str:
    name = cursor.name()
    if cursor.sees("("):
        raise NotSupportedError(
            f"PARTITION BY {name}(…) is not supported: partitions are the values of columns"
        )
    return name


def _distribution(cursor: Cursor, found: _Clauses) -> None:
    if cursor.accept("RANDOM"):
        found.is_random = True
    else:
        cursor.expect("HASH")
        found.hashed = cursor.listed(cursor.name)
    if cursor.accept("BUCKETS") and not cursor.accept("AUTO"):
        found.buckets = cursor.whole()


def _spelled_like(column: DorisColumn, clauses: _Clauses) -> DorisColumn:
    """The column; its name in the clauses gets its letter case, which Doris ignores."""
    for names in (clauses.key, clauses.partitioning, clauses.hashed):
        names[:] = [column.name if n.lower() == column.name.lower() else n for n in names]
    return column


def _key(columns: Sequence[DorisColumn], clauses: _Clauses) -> list[str]:
    """The key's columns, an ordered prefix; without a clause those without aggregation."""
    if clauses.model == "DUPLICATE":
        raise NotSupportedError("DUPLICATE KEY keeps rows of equal key apart: such a table has no "
                                "rows to fold, use another catalog")  # fmt: skip
    names = [column.name for column in columns]
    if clauses.model is None:
        marked = [column.name for column in columns if column.is_marked_key]
        clauses.key = marked or [c.name for c in columns if c.aggregation is None]
        if not clauses.key:
            raise TableError("there is no key: add AGGREGATE KEY (columns) before DISTRIBUTED BY")
        if not any(column.aggregation for column in columns):
            raise TableError("no column has an aggregation: add AGGREGATE KEY or UNIQUE KEY")
    missing = [name for name in clauses.key if name not in names]
    if missing:
        raise TableError(f"the key column {missing[0]} doesn't exist; there are {', '.join(names)}")
    if clauses.key != names[: len(clauses.key)]:
        raise TableError(
            f"the key columns ({', '.join(clauses.key)}) should be an ordered prefix of the "
            f"columns ({', '.join(names)})"
        )
    return clauses.key


def _check_columns(columns: Sequence[DorisColumn], key: list[str], clauses: _Clauses) -> None:
    folds = clauses.model in (None, "AGGREGATE")
    for column in columns:
        name, kind, root = column.name, column.aggregation, column.type.root
        if name in key and kind is not None:
            raise TableError(f"the key column {name} should not have the aggregation {kind}")
        if name in key and root in NO_KEY:
            shown = "Float or double" if root in ("FLOAT", "DOUBLE") else "this type"
            raise TableError(f"the key column {name} has type {root}: {shown} can't be a key")
        if column.is_numbered and folds:
            raise TableError(
                f"column {name}: AUTO_INCREMENT does not go with an AGGREGATE KEY; with a UNIQUE "
                "KEY it does"
            )
        if name not in key and kind is None and folds:
            raise TableError(f"the column {name} has no aggregation and is not in the key")
        if kind is not None and not folds:
            raise TableError(f"the column {name} of a {clauses.model} KEY table aggregates: {kind}")
        if clauses.is_random and kind in _REPLACES:
            raise TableError(
                f"DISTRIBUTED BY RANDOM does not go with the column {name}, which has {kind}"
            )


def _engine(columns: Sequence[DorisColumn], clauses: _Clauses) -> dict[str, str]:
    engine = {"merge-engine": called("Doris")[clauses.model or "AGGREGATE"].name}
    if clauses.model in ("UNIQUE", "PRIMARY"):
        sequence = clauses.properties.pop(_SEQUENCE, None)
        numbered = ",".join(column.name for column in columns if column.is_numbered)
        more = {"sequence.field": sequence, "auto-increment.fields": numbered}
        return engine | {name: text for name, text in more.items() if text}
    kinds = {
        f"fields.{column.name}.aggregate-function": column.aggregation
        for column in columns
        if column.aggregation is not None
    }
    states = {f"fields.{c.name}.agg-state": c.type.state for c in columns if c.type.state}
    return engine | kinds | states


def _buckets(key: list[str], clauses: _Clauses) -> dict[str, str]:
    """The bucket options. RANDOM too gives a key one bucket: its rows are one to any reader."""
    outside = [name for name in clauses.hashed if name not in key]
    if outside:
        raise TableError(f"DISTRIBUTED BY HASH names {outside[0]}, which is not in the key")
    hashed = [name for name in clauses.hashed if name not in clauses.partitioning]
    found = {"bucket-key": ",".join(hashed)} if hashed else {}
    return found | ({} if clauses.buckets is None else {"bucket": str(clauses.buckets)})


def _partitioning(columns: Sequence[DorisColumn], key: list[str], clauses: _Clauses) -> list[str]:
    kinds = {column.name: column.type.root for column in columns}
    for name in clauses.partitioning:
        if name not in key:
            raise TableError(f"the partition column {name} is not in the key")
        if clauses.partition_kind == "RANGE" and kinds[name] != "DATE":
            raise NotSupportedError(
                f"PARTITION BY RANGE ({name}): a partition is one value of its columns, which fits "
                f"DATE, not {kinds[name]}; leave the clause out or use LIST"
            )
    return clauses.partitioning


def _properties(clauses: _Clauses) -> dict[str, str]:
    if _SEQUENCE_TYPE in clauses.properties:
        raise NotSupportedError(
            f"the property {_SEQUENCE_TYPE} is not supported, as its sequence is in no column: add "
            f"one, and name it with '{_SEQUENCE}'"
        )
    return {n: v for n, v in clauses.properties.items() if n.lower() not in _PLACEMENT}
