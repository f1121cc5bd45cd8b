"""listagg: awkward letters, delimiters and lengths against the definition, and what it refuses."""

from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold.aggregates import listagg
from keyfold.aggregates.declaration import Inputs
from keyfold.aggregates.results import column_result
from keyfold.errors import TableError
from keyfold.kernels.folds.texts import is_blank
from keyfold.kernels.ops import ADD, RESET, SKIP
from keyfold.merge.column_aggregate import aggregate_of
from keyfold.merge.plan import check
from keyfold.options.names import normalize
from keyfold.options.parsing import parse
from keyfold.testing.tables import layout
from tests.draws import draws

LETTERS = ("a", "b", "|", "||", ",", " ", "\u3000", "é", "aa", "aba", "")
DELIMITERS = (",", "|", "||", "aba", "a", "", " ", "é", "ab")
KINDS = (pa.utf8(), pa.large_utf8())


@draws(120)
@given(
    st.integers(0, 2**32),
    st.sampled_from(DELIMITERS),
    st.booleans(),
    st.booleans(),
    st.sampled_from(KINDS),
)
def test_listagg_is_its_definition(
    seed: int, delimiter: str, distinct: bool, skips_blank: bool, kind: pa.DataType
) -> None:
    random = Random(seed)
    sizes = [random.choice((1, 2, 3, 8)) for _ in range(random.randrange(1, 9))]
    rows = sum(sizes)
    texts = [
        None if random.random() < 0.1 else "".join(random.choices(LETTERS, k=random.randrange(5)))
        for _ in range(rows)
    ]
    order = np.array(random.sample(range(rows), rows), dtype=np.int64)
    ops = np.array(random.choices((ADD, ADD, ADD, ADD, SKIP, RESET), k=rows), dtype=np.int8)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    column = pa.array([*texts, "behind"], kind).slice(0, rows)
    settings_of = (delimiter, distinct, skips_blank)
    result = listagg.joined(*settings_of, Inputs(column, ops, order, starts)).array
    result.validate(full=True)
    assert result.type == kind
    records = list(zip(ops.tolist(), [texts[row] for row in order], strict=True))
    assert result.to_pylist() == [
        listagg.definition(*settings_of, records[start : start + size])
        for start, size in zip(starts.tolist(), sizes, strict=False)
    ]


def test_blank_is_what_java_says() -> None:
    spaces = {9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x1680, 0x2028, 0x2029, 0x205F, 0x3000}
    spaces |= {*range(0x2000, 0x200B)} - {0x2007}
    for letter in (*range(0xD800), *range(0xE000, 0x10100)):
        data = np.frombuffer(bytearray(chr(letter).encode()), np.uint8)
        assert is_blank(data, 0, len(data)) == (letter in spaces), hex(letter)


def test_text_beyond_32_bit_offsets_gets_wider_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listagg, "MOST_BYTES", 10)
    ops, order = np.full(4, ADD, np.int8), np.arange(4)
    column = pa.array(["aaa", "bbb", "ccc", "ddd"])
    inputs = Inputs(column, ops, order, np.array([0, 2, 4]))
    result = column_result(listagg.LISTAGG, inputs).array
    assert result.type == pa.large_utf8()
    assert result.to_pylist() == ["aaa,bbb", "ccc,ddd"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("INT", "must be 'VarCharType' but was 'INT'"),
        ("VARCHAR(100)", "must be STRING (unbounded VARCHAR), but was VARCHAR(100)"),
    ],
)
def test_only_unbounded_text_is_joined(kind: str, words: str) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}
    with pytest.raises(TableError) as caught:
        check(layout({"k": "INT", "v": kind}, ["k"], options))
    assert words in str(caught.value)
    assert "'v'" in str(caught.value)


def test_texts_of_char_are_joined_padded_and_longer_than_one(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg", "bucket": 1}
    table = keyfold.connect(tmp_path).create_table(
        "t", {"k": "INT", "v": "CHAR(3)"}, ["k"], options=options
    )
    for text in ("a", "bc"):
        table.upsert([{"k": 1, "v": text}, {"k": 2, "v": text}])
    expected = [{"k": k, "v": "a  ,bc "} for k in (1, 2)]
    assert table.scan().to_pylist() == expected
    table.compact()
    table.upsert([{"k": 2, "v": "d"}])
    expected[1]["v"] += ",d  "
    assert table.scan().to_pylist() == expected
    assert table.scan(where="v = 'a  ,bc '").to_pylist() == expected[:1]


def folded(options: dict[str, str], *texts: str) -> str | None:
    """What a table of these options folds these texts to."""
    stored = check(layout({"k": "INT", "v": "STRING"}, ["k"], normalize(options)))
    aggregate = aggregate_of(stored, parse(stored), "v")
    assert aggregate is not None
    result: str | None = aggregate.definition([(ADD, text) for text in texts])
    return result


def test_paimon_leaves_blank_texts_out_and_fluss_keeps_them() -> None:
    paimon = {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}
    assert folded(paimon, "", "b", "") == "b"
    for name in ("listagg", "STRING_AGG", "string-agg"):
        fluss = {"table.merge-engine": "aggregation", "fields.v.agg": name}
        assert folded(fluss, "", "b", "") == ",b,"
        assert folded(fluss | {"fields.v.list-agg-skip-blank": "true"}, "", "b", "") == "b"


def test_an_empty_delimiter_is_fine_in_paimons_name_and_refused_in_fluss() -> None:
    paimon = {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}
    assert folded(paimon | {"fields.v.list-agg-delimiter": ""}, "a", "b") == "ab"
    fluss = {"table.merge-engine": "aggregation", "fields.v.agg": "listagg"}
    for name in ("listagg.delimiter", "delimiter"):
        with pytest.raises(TableError, match=r"fields\.v\..*must be a non-empty string"):
            folded(fluss | {f"fields.v.{name}": ""}, "a", "b")
