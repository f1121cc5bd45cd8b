"""Every kernel gives what its undecorated Python gives, on the inputs that merging really hands
it.
"""

import copy
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from datasketches import HLL_4, HLL_6, HLL_8, hll_sketch
from numba.core.types import unliteral

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import BadRecord
from keyfold.aggregates.quantile_union import written
from keyfold.aggregates.results import column_result
from keyfold.aggregates.states.folds import MERGES
from keyfold.errors import KeyfoldError
from keyfold.files.chunks import Chunks
from keyfold.files.indexes.making import Making
from keyfold.files.leaves import check_chunks, leaves_of
from keyfold.group_by.accumulate import Accumulated, GroupError
from keyfold.group_by.bound import BoundCall
from keyfold.group_by.keys import RowKeys, WordKeys
from keyfold.group_by.quantiles import QuantileCall, QuantileGroups
from keyfold.group_by.sets import SetCall, Sets
from keyfold.kernels import jit
from keyfold.kernels.buffers import bytes_of
from keyfold.kernels.groups.equality import differing
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.keys.comparable import encode
from keyfold.kernels.keys.hash import bucket_hash
from keyfold.kernels.keys.membership import find
from keyfold.kernels.keys.order import merge_order, sort_order
from keyfold.kernels.unsafe_rows.encode import encode as encode_rows
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.columns.bloom_filters import BloomFilterSize
from keyfold.storage.metadata.documents import opened
from keyfold.testing.tables import batch, layout
from keyfold.types.paimon import from_paimon
from tests.aggregates.test_definitions import bound, draw
from tests.files.avro_files import a_type, avro_file, some_rows
from tests.files.test_avro import read as read_rows
from tests.kernels.retractions import fold_signed, merge_retractions
from tests.merge.random_tables import random_records, random_table
from tests.merge.test_reversal import taken_back
from tests.random_values import ATOMIC, same, value
from tests.storage.metadata.test_manifest_columns import a_manifest, columns, encoded, schema_of

ROWS = 60
# The bytes of bitmaps and states: roaring/test_bitmaps.py, test_hostile_bytes.py
OPAQUE = ("keyfold.kernels.roaring.", "keyfold.kernels.states.")


def parts(arguments: tuple[Any, ...]) -> list[Any]:
    """The arguments, tuples of arrays taken apart."""
    return [
        part for found in arguments for part in (found if isinstance(found, tuple) else (found,))
    ]


def full_name(compiled: Any) -> str:
    """The kernel's module and name, which kernels of other modules may have too."""
    return f"{compiled.__module__}.{compiled.__name__}"


def compared(compiled: Any, calls: Counter[str]) -> Callable[..., Any]:
    """The kernel, run beside its Python on copies of the same arguments."""

    def both(*arguments: Any) -> Any:
        copies = copy.deepcopy(arguments)
        fast = compiled(*arguments)
        with np.errstate(over="ignore"):
            slow = compiled.py_func(*copies)
        name = full_name(compiled)
        assert fast == slow, f"{name}: {fast}, in Python {slow}"
        for place, (mine, theirs) in enumerate(zip(parts(arguments), parts(copies), strict=True)):
            if isinstance(mine, np.ndarray) and mine.dtype.kind == "f":
                is_same = all(map(same, mine.tolist(), theirs.tolist()))
            else:
                is_same = np.array_equal(mine, theirs)
            assert is_same, f"{name}, argument {place}: {mine}, in Python {theirs}"
        calls[name] += 1
        return fast

    return both


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every kernel of every module compared from here on; how often each was called. They are
    compiled before, since a compiled kernel calls no Python.
    """
    jit.warm()
    counted: Counter[str] = Counter()
    known = {id(compiled): compared(compiled, counted) for compiled, _ in jit.DECLARED}
    for name, module in list(sys.modules.items()):
        if name.startswith("keyfold."):
            for place, found in list(vars(module).items()):
                if id(found) in known:
                    monkeypatch.setattr(module, place, known[id(found)])
    return counted


def column(kind: pa.DataType, random: Random, null_rate: float = 0.0) -> pa.Array:
    return pa.array([value(kind, random, null_rate) for _ in range(ROWS)], kind)


def merge_tables(random: Random) -> None:
    for key in ("INT", "STRING"):
        for sequence in ("INT", "STRING"):
            columns = {"k": key, "s": sequence, "v": "STRING"}
            options = {"sequence.field": "s", "ignore-delete": "true"}
            table = layout(columns, ["k"], options)
            runs = []
            for number in range(3):
                rows = [
                    (0, {f.name: value(f.type, random) for f in table.arrow_schema})
                    for _ in range(ROWS)
                ]
                out = fold_unsorted(plan_merge(table, list(columns)), [batch(table, rows)])
                kinds = [random.randrange(4) for _ in range(out[0].num_rows)]
                arrays = [*out[0].columns[:-1], pa.array(kinds, pa.int8())]
                part = pa.RecordBatch.from_arrays(arrays, schema=out[0].schema)
                runs.append(SortedRun(iter([part]), (number, number)))
            list(merge_runs(plan_merge(table, list(columns)), runs))


def merge_partial_updates() -> None:
    table, rows = taken_back()
    fold_unsorted(plan_merge(table, ["k", "v", "g"]), [batch(table, rows)])
    for seed in range(40):
        random = Random(seed)
        table = random_table(random, "partial-update")
        names = [column.name for column in table.columns]
        rows = random_records(random, table, ROWS, (0, 0, 0, 3) if seed % 2 else (0,))
        with suppress(KeyfoldError):
            fold_unsorted(plan_merge(table, names), [batch(table, rows)])


def merge_marked() -> None:
    """Records that don't name a column."""
    table = layout({"k": "INT", "v": "INT", "w": "INT"}, ["k"], {"merge-engine": "partial-update"})
    runs = []
    for number, named in enumerate((None, "1", "2")):
        part = batch(table, [(0, {"k": 1, "v": number, "w": number})])
        part = part.append_column("_NAMED", pa.array([named], pa.utf8()))
        runs.append(SortedRun(iter([part]), (number, number)))
    list(merge_runs(plan_merge(table, ["k", "v", "w"], marks=True), runs))


def fold_columns(random: Random) -> None:
    """Every aggregate in all its settings on every type it takes."""
    for aggregate, kind in (case.values for case in bound()):
        with suppress(BadRecord):  # a quotient that there is not
            inputs = draw(random, kind, ROWS // 3, aggregate)
            column_result(aggregate, replace(inputs, ops=np.ones_like(inputs.ops)))
            column_result(aggregate, inputs)


def fold_queries(random: Random) -> None:
    """Groups of a query, and their states."""
    groups = np.array([random.randrange(9) for _ in range(ROWS)], dtype=np.int32)
    for name, kind in ATOMIC.items():
        for function in ("sum", "max", "first_value", "last_value"):
            call = BoundCall(function, from_paimon(name), {})
            if aggregates()[function].accepts.test(kind):
                found, again = Accumulated(call, 1 << 20), Accumulated(call, 1 << 20)
                with suppress(GroupError):  # a sum that does not fit
                    found.add(groups, column(kind, random, 0.2))
                    again.merge(np.arange(9, dtype=np.int32), next(found.states(0, 9)))
    words, rows = WordKeys(pa.int64()), RowKeys([pa.int64(), pa.utf8()])
    decimals = WordKeys(pa.decimal128(18, 0))
    for count in (ROWS, 9000):  # more keys than the tables have room for at first
        keys = pa.array([None, *(random.randrange(10 * count) for _ in range(count))])
        words.number(keys)
        decimals.number(pc.cast(pc.cast(keys, pa.int32()), pa.decimal128(18, 0)))
        rows.number(encode_rows([keys, pc.cast(keys, pa.utf8())]))


def fold_sets(random: Random) -> None:
    """Bitmaps and sketches of groups: small ones, dense ones, wide ones, and none."""
    numbers = [*range(1100), *(random.randrange(-5, 1 << 34) for _ in range(ROWS)), None, 70000]
    many = [*random.sample(range(1 << 16), 4200), *range(100, 9000)]
    for name in ("bitmap_agg", "bitmap_union_int", "hll_union", "hll_union_agg"):
        found, again = Sets(SetCall(name, "numbers")), Sets(SetCall(name, "numbers"))
        groups = np.array([min(row // 1100, 1) for row in range(len(numbers))], dtype=np.int32)
        found.add(groups, pa.array(numbers, pa.int64()))
        found.add(np.full(len(many), 3, dtype=np.int32), pa.array(many))
        for _ in range(2):
            again.merge(np.arange(5, dtype=np.int32), next(found.states(0, 5)))
        again.add(groups, pa.array(numbers, pa.int64()))
        assert again.values(0, 5) == found.values(0, 5)


def fold_stored(random: Random) -> None:
    """Stored sketches of every form, those of texts, and stored quantile states."""
    stored: list[bytes | None] = [None]
    for kind, count in ((HLL_4, 3), (HLL_8, 60), (HLL_4, 900), (HLL_6, 900), (HLL_8, 900)):
        one = hll_sketch(6 if count == 900 else 12, kind)
        for _ in range(count):
            one.update(random.randrange(1 << 40))
        stored += [bytes(one.serialize_compact()), bytes(one.serialize_updatable())]
    groups = np.arange(len(stored), dtype=np.int32) // 3
    for of, column in (
        ("sketches", pa.array(stored, pa.binary())),
        ("texts", pa.array([None, *("x" * (5 * place) for place in range(len(stored) - 1))])),
    ):
        found, again = (Sets(SetCall("hll_union_agg", of)) for _ in range(2))
        found.add(groups, column)
        for _ in range(2):
            again.merge(np.arange(5, dtype=np.int32), next(found.states(0, 5)))
        again.add(groups, column)
        found.add(groups[::-1].copy(), column)
        again.values(0, 5)
    exact = [written(2048, np.array([float(n), np.nan])) for n in range(9)]
    quantiles = QuantileGroups(QuantileCall("quantile_union"))
    quantiles.add(np.arange(10, dtype=np.int32) // 3, pa.array([None, *exact]))
    quantiles.values(0, 5)


def fold_states(random: Random) -> None:
    """The states of a few groups put together, with as many fields as each fold takes."""
    starts = np.array([0, 1, 2 * ROWS // 3, ROWS], dtype=np.int64)
    for fold, sizes in {"moments": (3, 4, 5), "covariance": (4, 6), "regression": (6,)}.items():
        for size in sizes:
            counts = pa.array([float(random.randrange(3)) for _ in range(ROWS)])
            others = [pa.array([random.gauss(0, 9) for _ in range(ROWS)]) for _ in range(size - 1)]
            again = [counts] if fold == "regression" else []
            MERGES[fold]([counts, *others[:3], *again, *others[3:]], starts)


def decode_pages(random: Random, folder: Path) -> None:
    """A file in the forms that are decoded without pyarrow, as it is and with wrong bytes."""
    names = {"i": pa.int32(), "l": pa.int64(), "t": pa.utf8()}
    table = pa.table({name: column(kind, random) for name, kind in names.items()})
    encoding = {"i": "DELTA_BINARY_PACKED", "l": "DELTA_BINARY_PACKED"}
    encoding["t"] = "DELTA_LENGTH_BYTE_ARRAY"
    path = folder / "file"
    pq.write_table(table, path, use_dictionary=False, column_encoding=encoding, compression="none")
    metadata, good = pq.read_metadata(path), path.read_bytes()
    footer = good[-8 - metadata.serialized_size : -8]
    check_chunks(metadata, bytes_of(pa.py_buffer(footer)), len(good))
    for turn in range(30):
        content = bytearray(good)
        if turn:
            content[random.randrange(4, len(good) // 2)] ^= 1 << random.randrange(8)
        path.write_bytes(content)
        chunks = Chunks(pa.OSFile(str(path)), str(path), metadata, leaves_of(metadata), False)
        for name, kind in names.items():
            with suppress(OverflowError):  # numpy's, of a sum that a kernel lets wrap around
                chunks.column(0, name, kind)


def order_keys(random: Random) -> None:
    """Words of keys, their order and hash, and look-ups among them."""
    encode_closed([pa.array(["same-1", "same-2"])])
    encode_closed([pa.array(["same-1", "same-2 and more"])])
    differing([column(pa.utf8(), random)], np.arange(ROWS - 1), np.arange(1, ROWS))
    for kind in ATOMIC.values():
        bucket_hash([column(kind, random, 0.2), column(pa.utf8(), random)])
        keys = encode([column(kind, random), column(pa.utf8(), random), column(pa.int8(), random)])
        sort_order(keys, np.arange(ROWS, dtype=np.int64))
        encode([column(pa.int8(), random), column(pa.utf8(), random)])
        half = ROWS // 2
        merge_order(keys, [half, ROWS - half])
        distinct = encode([pa.array(["key 1", "key 10 and more", "key 10 and most"])])
        find(distinct, encode([pa.array(["key 10 and more", "key 2"])]))


def merge(random: Random) -> None:
    merge_tables(random)
    merge_partial_updates()
    merge_marked()
    merge_retractions(random)
    fold_columns(random)


def fold(random: Random) -> None:
    fold_columns(random)
    fold_queries(random)
    fold_signed(random)


def unite(random: Random) -> None:
    fold_sets(random)
    fold_stored(random)
    fold_states(random)


# What calls every kernel of which modules.
def read_manifests(random: Random) -> None:
    """Manifests that add files and that delete them, in several schemas."""
    for _ in range(3):
        records = a_manifest(random)
        columns(opened(encoded(schema_of(random, records), records)))


def read_avro(random: Random) -> None:
    """Files of random columns, and one that is damaged."""
    for _ in range(3):
        types = {f"c{n}": a_type(random) for n in range(4)} | {"d": from_paimon("DECIMAL(20, 2)")}
        data = avro_file(types, some_rows(types, 20, random))
        read_rows(data, types)
    with suppress(ValueError):
        read_rows(data[:-40] + bytes(24) + data[-16:], types)


def fill_filters(random: Random) -> None:
    making = Making({"n": BloomFilterSize(40, 0.1), "t": BloomFilterSize(40, 0.1)})
    numbers = [random.randrange(-(1 << 63), 1 << 63) for _ in range(20)]
    making.add(pa.table({"n": numbers, "t": ["x" * random.randrange(80) for _ in numbers]}))
    assert making.parts


FAMILIES: dict[str, tuple[Callable[[Random, Path], None], tuple[str, ...]]] = {
    "pages": (decode_pages, ("keyfold.kernels.pages", "keyfold.kernels.footers")),
    "manifests": (
        lambda random, _: read_manifests(random),
        ("keyfold.kernels.avro.entries", "keyfold.kernels.avro.records"),
    ),
    "avro files": (lambda random, _: read_avro(random), ("keyfold.kernels.avro.slots",)),
    "keys": (
        lambda random, _: order_keys(random),
        (
            *(f"keyfold.kernels.keys.{name}" for name in ("closed", "comparable", "hash")),
            *(f"keyfold.kernels.keys.{name}" for name in ("membership", "order", "words")),
            "keyfold.kernels.groups.equality",
        ),
    ),
    "merges": (
        lambda random, _: merge(random),
        (
            "keyfold.kernels.keys.packed",
            "keyfold.kernels.groups.any_of",
            "keyfold.kernels.groups.by_key",
            "keyfold.kernels.array_tuples",
            "keyfold.merge.",
        ),
    ),
    "folds": (
        lambda random, _: fold(random),
        (
            *(f"keyfold.kernels.folds.{name}" for name in ("decimals", "elements", "extremes")),
            *(f"keyfold.kernels.folds.{name}" for name in ("keyed", "products", "running")),
            "keyfold.kernels.folds.texts",
            "keyfold.kernels.groups.by_group",
            "keyfold.kernels.groups.numbered",
            "keyfold.kernels.unsafe_rows.",
            "keyfold.aggregates.",
        ),
    ),
    "filters": (lambda random, _: fill_filters(random), ("keyfold.kernels.filters",)),
    "states": (
        lambda random, _: unite(random),
        tuple(f"keyfold.kernels.folds.{name}" for name in ("item_sets", "sketches", "moments")),
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_kernel_is_its_python(family: str, calls: Counter[str], tmp_path: Path) -> None:
    run, modules = FAMILIES[family]
    run(Random(2 if family == "pages" else 1), tmp_path)
    every = {full_name(found) for found, _ in jit.DECLARED if found.__module__.startswith(modules)}
    assert every
    assert not every - set(calls), "\n".join(sorted(every - set(calls)))


def test_every_kernel_has_a_family() -> None:
    known = {found.__module__ for found, _ in jit.DECLARED}
    listed = tuple(name for _, modules in FAMILIES.values() for name in modules)
    assert not {name for name in known if not name.startswith((*listed, *OPAQUE))}


def test_no_kernel_was_compiled_for_types_it_does_not_name() -> None:
    for compiled, signatures in jit.DECLARED:
        known = {tuple(map(unliteral, arguments)) for arguments in compiled.signatures}
        assert len(known) <= len(signatures), compiled.__name__
