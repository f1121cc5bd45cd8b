"""Bytes that say what is not so: of sketches, bitmaps, quantile and aggregate states, pages.

They are refused in words of our own, or read. No kernel reads or writes beside its arrays, none
takes long, and what a table takes can be united. `KEYFOLD_HOSTILE_INPUTS` is how many of each form
are tried.
"""

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasketches import HLL_4, HLL_6, HLL_8, hll_sketch, tdigest_double, update_theta_sketch
from pyroaring import BitMap, BitMap64

from keyfold.aggregates import agg_state, bitmaps, quantile_union, sketches
from keyfold.aggregates.declaration import BadRecord, Fold
from keyfold.aggregates.states.checked import Checked
from keyfold.errors import CorruptDataError
from keyfold.files.chunks import Chunks
from keyfold.files.leaves import leaves_of
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.quantiles import QuantileCall, QuantileGroups
from keyfold.group_by.sets import SetCall, Sets
from keyfold.kernels import jit
from keyfold.kernels.roaring import bitmaps as roaring
from tests.aggregates.test_agg_state import SIGNATURES, content, states
from tests.aggregates.test_states import vectors
from tests.kernels.hostile import guard, mutated

INPUTS = int(os.environ.get("KEYFOLD_HOSTILE_INPUTS", "600"))
STRICT = INPUTS // 12  # Python is slow
KERNELS = ("keyfold.kernels.states.", "keyfold.kernels.roaring.", "keyfold.kernels.pages")
SETS = "keyfold.kernels.folds.item_sets"

Try = Callable[[bytes], None]


def hlls() -> list[bytes]:
    found = [vector["bytes"] for vector in vectors("hll.json")]
    for kind in (HLL_4, HLL_6, HLL_8):
        for lg_k in (4, 8, 12):
            for count in (3, 30, 3000):
                made = hll_sketch(lg_k, kind)
                for number in range(count):
                    made.update(number)
                found += [made.serialize_compact(), made.serialize_updatable()]
    return [bytes(state) for state in found]


def thetas() -> list[bytes]:
    found = [vector["bytes"] for vector in vectors("theta.json")]
    for count in (0, 1, 9, 200, 9000):
        made = update_theta_sketch(8)
        for number in range(count):
            made.update(number)
        ordered = made.compact(True)
        found += [ordered.serialize(), made.compact(False).serialize()]
        if count > 1:
            found.append(packed(list(ordered), ordered.theta64))
    return [bytes(state) for state in found]


def packed(entries: list[int], theta: int) -> bytes:
    """A sketch of version 4: what each entry is more than the one before, in as few bits as do."""
    steps = [one - before for before, one in pairwise([0, *entries])]
    bits = max(step.bit_length() for step in steps)
    text = "".join(f"{step:0{bits}b}" for step in steps)
    body = int(text.ljust(-(-len(text) // 8) * 8, "0"), 2).to_bytes(-(-len(text) // 8), "big")
    head = bytes((2, 4, 3, bits, 2, 26)) + b"\xcc\x93" + theta.to_bytes(8, "little")
    return head + len(entries).to_bytes(2, "little") + body


def quantile_states() -> list[bytes]:
    found = [vector["bytes"] for vector in vectors("quantile.json")]
    for count in (0, 1, 2, 90):
        digest = tdigest_double(2048)
        digest.update(np.arange(count, dtype=np.float64))
        found += [
            quantile_union.written(2048, np.arange(count)),
            b"\1\0\x08\1" + bytes(digest.serialize()),
            b"\1\0\x08\1\2\1\x14\0\x08\0\0\0"
            + struct.pack(f"<IIdd{count + 1}d", 0, count + 1, 0.0, count, *range(count + 1)),
        ]
    return found


def sets() -> list[bytes]:
    found = [vector["bytes"] for name in ("rbm32", "rbm64") for vector in vectors(f"{name}.json")]
    for numbers in (
        range(9),
        range(0, 3 << 16, 7),
        [n << 20 for n in range(60)],
        [n << 34 for n in range(20)],
    ):
        own = BitMap64(numbers)
        found += [roaring.write64(own), own.serialize(), BitMap64(numbers).serialize()]
        if max(numbers) < 1 << 32:
            found += [roaring.write32(BitMap(numbers)), BitMap(numbers).serialize()]
    return [bytes(state) for state in found]


def accumulated(made: Callable[[], Any], state: bytes) -> None:
    """A query over the state, twice in one group."""
    one = made()
    with suppress(GroupError):
        one.add(np.array([1, 1], dtype=np.int32), pa.array([state, state], pa.binary()))
        one.values(0, 2)
        again = made()
        again.merge(np.arange(2, dtype=np.int32), next(one.states(0, 2)))


def refused(check: Callable[[pa.Array], None] | None, column: pa.Array) -> int | None:
    """The row that a check refuses."""
    assert check is not None
    try:
        check(column)
    except BadRecord as error:
        return error.group
    return None


def united(declared: Fold, form: Checked, union: Any, state: bytes) -> None:
    """What a table takes can be united; what it does not is refused when it is opened too."""
    wrong = refused(declared.check, pa.array([None, state], pa.binary()))
    if wrong is not None:
        assert wrong == 1
        if form.united is None:
            with pytest.raises(ValueError, match=f"Unable to deserialize {form.words}: "):
                union([state, state])
    else:
        union([state, union([state, state])])


def of_bitmaps(name: str, state: bytes) -> None:
    declared = {"rbm32": bitmaps.RBM32, "rbm64": bitmaps.RBM64}[name]
    read = {"rbm32": roaring.read32, "rbm64": roaring.read64}[name]
    assert declared.normalize is not None
    try:
        (stored,) = declared.normalize(pa.array([state], pa.binary())).to_pylist()
    except BadRecord:
        with pytest.raises(ValueError, match="Unable to deserialize roaring bitmap"):
            read(state)
    else:
        assert read(stored) == read(state)


FORMS: dict[str, tuple[Callable[[], list[bytes]], list[Try]]] = {
    "hll": (
        hlls,
        [
            partial(united, sketches.HLL_SKETCH, sketches.HLL, sketches.hll_union_of),
            partial(accumulated, partial(Sets, SetCall("hll_union", "sketches"))),
            partial(accumulated, partial(Sets, SetCall("hll_union_agg", "sketches"))),
        ],
    ),
    "theta": (
        thetas,
        [partial(united, sketches.THETA_SKETCH, sketches.THETA, sketches.theta_union_of)],
    ),
    "quantiles": (
        quantile_states,
        [
            partial(
                united,
                quantile_union.QUANTILE_UNION,
                quantile_union.STATES,
                quantile_union.union,
            ),
            partial(accumulated, partial(QuantileGroups, QuantileCall("quantile_union"))),
        ],
    ),
    "bitmaps": (
        sets,
        [
            partial(of_bitmaps, "rbm32"),
            partial(of_bitmaps, "rbm64"),
            partial(accumulated, partial(Sets, SetCall("bitmap_union", "bitmaps"))),
        ],
    ),
}


def tried(form: str, count: int, seed: int) -> None:
    make, each = FORMS[form]
    random, known = Random(seed), make()
    for number in range(count):
        state = mutated(random.choice(known), known, random)
        try:
            for attempt in each:
                attempt(state)
        except BaseException as error:
            error.add_note(f"input {number}: {state[:4096].hex()}")
            raise


@pytest.mark.parametrize("form", FORMS)
def test_no_bytes_reach_beside_an_array(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guard(monkeypatch, (*KERNELS, SETS), is_strict=False)
    tried(form, INPUTS, 1)


def test_no_bytes_are_looked_at_beside_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the Python of the kernels, each of which takes part."""
    modules = KERNELS[:2]
    names = guard(monkeypatch, modules, is_strict=True)
    for form in FORMS:
        tried(form, STRICT, 2)
    sketches.HLL.state(next(state for state in hlls() if state[0] == 10 and any(state[36:40])))
    inner = {"words_of_bits", "bad"}
    own = {one.__name__ for one, _ in jit.DECLARED if one.__module__.startswith(modules)}
    assert own - names <= inner


@pytest.mark.parametrize("form", FORMS)
def test_what_writers_write_is_taken(form: str) -> None:
    make, each = FORMS[form]
    check = {"hll": sketches.HLL, "theta": sketches.THETA, "quantiles": quantile_union.STATES}
    for state in make():
        if form in check:
            check[form].column(pa.array([state], pa.binary()))
        else:
            assert roaring.form(state) is not None
            roaring.to_java(pa.array([state], pa.binary()))
        for attempt in each:
            attempt(state)


@pytest.mark.parametrize("found", SIGNATURES, ids=lambda found: found.text)
def test_aggregate_states(found: Any) -> None:
    random = Random(3)
    known = states(found, content(found, random, 5))
    check = partial(agg_state._check, found, agg_state.merge_of(found))
    for _ in range(max(1, INPUTS // 30)):
        head = len(found.header())
        state = random.choice(known)
        state = state[:head] + mutated(state[head:], known, random)
        column = pa.array([state, random.choice(known)], pa.binary())
        assert refused(check, column) in (None, 0)
        with suppress(BadRecord):
            agg_state._merged(found, agg_state.merge_of(found), column, np.array([0, 2]))


def test_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    guard(monkeypatch, KERNELS, is_strict=False)
    random, rows = Random(4), 300
    table = pa.table(
        {
            "i": pa.array([random.randrange(1 << 20) for _ in range(rows)], pa.int32()),
            "t": pa.array(["x" * random.randrange(9) for _ in range(rows)]),
        }
    )
    encoding = {"i": "DELTA_BINARY_PACKED", "t": "DELTA_LENGTH_BYTE_ARRAY"}
    path = tmp_path / "file"
    pq.write_table(table, path, use_dictionary=False, column_encoding=encoding, compression="none")
    metadata, good = pq.read_metadata(path), path.read_bytes()
    size = metadata.serialized_size + 8
    for _ in range(INPUTS):
        content = mutated(good[4:-size], [good], random)[: len(good) - size - 4]
        data = good[:4] + content.ljust(len(good) - size - 4, b"\0") + good[-size:]
        source = pa.PythonFile(pa.BufferReader(data), mode="r")
        chunks = Chunks(source, str(path), metadata, leaves_of(metadata), False)
        for name in table.column_names:
            with suppress(CorruptDataError):
                chunks.column(0, name, table.schema.field(name).type)
