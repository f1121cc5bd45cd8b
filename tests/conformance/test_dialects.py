"""Reading cases: how INSERTs split, what a kind column adds, what is left out and what passes."""

from typing import Any

import pytest

from integration.conformance import doris, fluss, paimon, tables
from integration.conformance.case import Compaction, Insert, Raw, Refusal, Rows, Statement

PAIMON: Raw = {
    "id": "p",
    "engine": "deduplicate",
    "columns": [["k", "INT"], ["v", "STRING"]],
    "primary_key": ["k"],
    "options": {},
    "commits": [[{"kind": "+I", "row": [1, "a"]}]],
    "expect": [[1, "a"]],
}
FLUSS: Raw = {**PAIMON, "id": "f", "engine": "default"}
DORIS: Raw = {
    "id": "d",
    "engine": "aggregate-key",
    "columns": [["k", "INT"], ["v", "BIGINT"]],
    "key": ["k"],
    "agg": {"v": "SUM"},
    "defaults": {},
    "commits": [[[1, 2]]],
    "query": None,
    "expect": [[1, 2]],
}
DELETE = [{"kind": "-D", "row": [1, "a"]}]


def test_each_form_is_known_by_one_dialect() -> None:
    cases = [PAIMON, FLUSS, DORIS]
    aggregating = {**FLUSS, "engine": "aggregation", "options": {"table.merge-engine": "x"}}
    forms = [[d.is_form(raw) for d in (paimon, fluss, doris)] for raw in cases]
    assert forms == [[True, False, False], [False, True, False], [False, False, True]]
    assert not paimon.is_form(aggregating)
    assert fluss.is_form(aggregating)


def test_kinds_need_a_column() -> None:
    plain = paimon.read(PAIMON, "write-only")
    assert tables.KIND not in plain.create
    raw = {**PAIMON, "engine": "aggregation", "commits": [*PAIMON["commits"], DELETE]}
    case = paimon.read(raw, "write-only")
    assert f"'fields.{tables.KIND}.aggregate-function' = 'last_value'" in case.create
    assert case.commits == [Insert([[1, "a", "+I"]]), Insert([[1, "a", "-D"]])]
    own = paimon.read({**raw, "options": {"rowkind.field": "v"}}, "write-only")
    assert tables.KIND not in own.create


def test_layouts() -> None:
    assert "'bucket' = '1'" in paimon.read(PAIMON, "write-only").create
    assert "'bucket.num' = '3'" in fluss.read(FLUSS, "buckets").create
    named = {**PAIMON, "options": {"bucket": "0"}}
    assert "'bucket' = '0'" in paimon.read(named, "buckets").create


@pytest.mark.parametrize("dialect", [paimon, fluss, doris])
def test_each_commit_is_compacted_in_the_layout_of_that_name(dialect: Any) -> None:
    raw = {paimon: PAIMON, fluss: FLUSS, doris: DORIS}[dialect]
    two = {**raw, "commits": raw["commits"] * 2}
    (insert,) = dialect.read(raw, "write-only").commits
    assert dialect.read(two, "compacted").commits == [insert, Compaction()] * 2
    assert dialect.read(two, "write-only").commits == [insert] * 2


def test_a_case_says_itself_what_is_compacted() -> None:
    commits = [[change, {**change, "kind": "+U"}] for change in PAIMON["commits"][0]] * 3
    case = paimon.read({**PAIMON, "commits": commits, "compact_after": [0, 2]}, "write-only")
    insert = case.commits[0]
    assert case.commits == [insert, Compaction(), insert, insert, Compaction()]


def test_a_commit_splits_where_targets_or_mode_change() -> None:
    def change(row: list[Any], **more: Any) -> Raw:
        return {"kind": "+I", "row": row, **more}

    commit = [
        change([1, "a"], target_columns=["k"]),
        change([2, "b"], target_columns=["k"]),
        change([3, "c"]),
        change([4, "d"], merge_mode="overwrite"),
    ]
    case = fluss.read({**FLUSS, "commits": [commit]}, "write-only")
    assert case.commits == [
        Insert([[1, "a"], [2, "b"]], ("k",)),
        Insert([[3, "c"]]),
        Insert([[4, "d"]], None, "overwrite"),
    ]


def test_fluss_drops_updates_before_and_junk_of_deletes() -> None:
    commit = [{"kind": "-U", "row": [1, "a"]}, {**DELETE[0], "target_columns": ["k", "v"]}]
    case = fluss.read({**FLUSS, "commits": [commit]}, "write-only")
    assert case.commits == [Insert([[1, None, "-D"]], ("k", "v", tables.KIND))]
    columns = [["k", "INT"], ["v", "STRING NOT NULL"]]
    case = fluss.read({**FLUSS, "columns": columns, "commits": [DELETE]}, "write-only")
    assert case.commits == [Insert([[1, "a", "-D"]])]


def test_tables_that_hide_new_rows_are_compacted() -> None:
    raw = {**PAIMON, "options": {"deletion-vectors.enabled": "true"}}
    case = paimon.read(raw, "write-only")
    assert case.left_out is None
    assert "'write-only' = 'false'" in case.create


def test_doris_states_in_doris_words() -> None:
    raw = {**DORIS, "agg": {"v": "AGG_STATE<sum(int)>"}}
    case = doris.read(raw, "write-only")
    assert "`v` AGG_STATE<sum(int)> GENERIC" in case.create
    assert case.left_out is None


def test_what_passes() -> None:
    other = [{"layouts": ["x"], "rows": [[2, "b"]]}, {"layouts": ["y"], "error": "no"}]
    depends = {**PAIMON, "path_dependent": True, "expect_by_layout": other, "unordered": ["v"]}
    free = frozenset("v")
    assert paimon.accepted(depends) == [
        Rows([[1, "a"]], free), Rows([[2, "b"]], free), Refusal("no")
    ]  # fmt: skip
    disputed = {**FLUSS, "alt_expect": [[9, "z"]], "alt_expect_error": "no", "conflict": "yes"}
    assert fluss.accepted(disputed) == [Rows([[1, "a"]]), Refusal("no", "create")]
    refused = {**DORIS, "expect_error": "no", "error_at": "insert"}
    assert doris.accepted(refused) == [Refusal("no", "write")]


def test_statements_stay_as_they_are() -> None:
    case = doris.read({**DORIS, "commits": [{"sql": "DELETE FROM t"}, [[1, 2]]]}, "write-only")
    assert case.commits == [Statement("DELETE FROM t"), Insert([[1, 2]], is_sql=True)]
