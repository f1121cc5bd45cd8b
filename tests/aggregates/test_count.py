"""count: the number of non-null inputs, however the records fall into jobs, files and merges."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import FoldOverflowError, TableError
from keyfold.merge.plan import check
from keyfold.testing.tables import layout
from tests.draws import draws
from tests.read import harness
from tests.storage import tables

OPTIONS = {
    "merge-engine": "aggregation",
    "bucket": "1",
    "fields.n.aggregate-function": "count",
    "rowkind.field": "kind",
}
INPUTS = st.tuples(
    st.integers(1, 3), st.sampled_from(["+I", "+U", "-U", "-D"]), st.sampled_from([None, 0, 7, -9])
)


def table(folder: Path, kind: str) -> Any:
    columns = (tables.column("k"), tables.column("n", kind), tables.column("kind", "string"))
    return tables.table(folder, tables.new_table(*columns, key="k", **OPTIONS))


@draws(12)
@given(st.lists(st.lists(INPUTS, max_size=9), min_size=1, max_size=5))
def test_count_does_not_depend_on_the_split_into_jobs(jobs: list[list[Any]]) -> None:
    first = [(key, "+I", 5) for key in (1, 2, 3)] * 2
    with TemporaryDirectory() as folder:
        made = table(Path(folder), "long")
        for job in [first, *jobs]:
            harness.upsert(made, [{"k": key, "kind": kind, "n": n} for key, kind, n in job])
        found = {row["k"]: row["n"] for row in harness.rows(made)}
    expected: Counter[int] = Counter()
    for key, kind, n in [*first, *(change for job in jobs for change in job)]:
        if n is not None:
            expected[key] += 1 if kind[0] == "+" else -1
    assert found == {key: expected[key] for key in (1, 2, 3)}


def test_null_counts_as_nothing_and_one_record_as_one(tmp_path: Path) -> None:
    made = table(tmp_path, "long")
    harness.upsert(made, [{"k": 1, "kind": "+I", "n": None}, {"k": 2, "kind": "+I", "n": 700}])
    assert {row["k"]: row["n"] for row in harness.rows(made)} == {1: 0, 2: 1}


def test_a_count_beyond_its_type_is_an_overflow(tmp_path: Path) -> None:
    made = table(tmp_path, "byte")
    with pytest.raises(FoldOverflowError, match=r"column n: the count for key \(k = 1\) does not"):
        harness.upsert(made, [{"k": 1, "kind": "+I", "n": 3}] * 128)


@pytest.mark.parametrize("kind", ["DOUBLE", "STRING", "DECIMAL(5, 2)"])
def test_a_count_is_an_integer(kind: str) -> None:
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "COUNT"}
    with pytest.raises(TableError, match="count column 'n' must be an integer type but was"):
        check(layout({"k": "INT", "n": kind}, ["k"], options))


def test_other_engines_write_what_they_are_given(tmp_path: Path) -> None:
    columns = (tables.column("k"), tables.column("n", "long"))
    made = tables.table(tmp_path, tables.new_table(*columns, key="k", bucket="1"))
    harness.upsert(made, [{"k": 1, "n": 700}])
    assert harness.rows(made) == [{"k": 1, "n": 700}]
