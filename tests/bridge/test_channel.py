"""Frames and Arrow streams through a pair of sockets."""

import errno
import socket
import threading
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from keyfold.bridge import channel as under_test
from keyfold.bridge import frames
from keyfold.bridge.channel import BATCH_BYTES, BATCH_ROWS, Channel, Disconnected, bounded
from keyfold.errors import KeyfoldError, TableError
from keyfold.resources.threads import ahead

Pair = tuple[Channel, Channel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends of a connection."""
    one, other = socket.socketpair()
    yield Channel(one), Channel(other)
    one.close()
    other.close()


def batch(rows: int, width: int = 10) -> pa.RecordBatch:
    """Numbers, text of `width` characters and nulls."""
    generator = np.random.default_rng(rows)
    numbers = pa.array(generator.integers(0, 100, rows), mask=generator.random(rows) < 0.1)
    text = ["x" * width] * rows
    return pa.record_batch([numbers, pa.array(text, pa.string())], names=["n", "t"])


def test_frames_keep_their_order_and_text(pair: Pair) -> None:
    sent = [{"a": [1, None, "ü \u0000 ☃"]}, {}, {"b": {"c": 2**70}}]
    for frame in sent:
        pair[0].send(frame)
    assert [pair[1].receive() for _ in sent] == sent


@pytest.mark.parametrize("counts", [[], [0], [1], [100_000, 3], [200_000]])
def test_rows_and_what_follows_arrive(pair: Pair, counts: list[int]) -> None:
    batches = [batch(count) for count in counts]
    schema = batch(1).schema
    received: list[pa.RecordBatch] = []
    reader = threading.Thread(target=lambda: received.extend(pair[1].receive_batches()))
    reader.start()
    traffic = pair[0].send_batches(schema, iter(batches))
    reader.join()
    pair[0].send({"after": 1})
    assert pair[1].receive() == {"after": 1}
    assert pa.Table.from_batches(received, schema) == pa.Table.from_batches(batches, schema)
    assert traffic.rows == sum(counts)


@pytest.mark.parametrize(("rows", "width"), [(0, 1), (1, 1), (300_000, 4), (3_000, 20_000)])
def test_batches_are_bounded_by_rows_and_bytes(rows: int, width: int) -> None:
    whole = batch(rows, width)
    pieces = list(bounded(whole))
    assert sum(piece.num_rows for piece in pieces) == rows
    assert all(piece.num_rows <= BATCH_ROWS for piece in pieces)
    assert all(piece.nbytes <= BATCH_BYTES * 1.1 for piece in pieces)


def test_a_stream_that_fails_ends_properly(pair: Pair) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield batch(5)
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        pair[0].send_batches(batch(1).schema, failing())
    pair[0].send({"error": "follows"})
    assert sum(b.num_rows for b in pair[1].receive_batches()) == 5
    assert pair[1].receive() == {"error": "follows"}


def test_losing_the_peer_is_no_storage_error(pair: Pair) -> None:
    pair[1].close()
    with pytest.raises(Disconnected):
        pair[0].send_batches(batch(1).schema, iter([batch(100_000)] * 20))
    assert pair[0].receive() is None


def test_half_a_stream_is_a_lost_peer(pair: Pair) -> None:
    pair[0].send_batches(batch(1).schema, iter([batch(5)]))
    data = pair[1].connection.recv(1 << 20)
    one, other = socket.socketpair()
    one.sendall(data[:-12])
    one.close()
    with pytest.raises(Disconnected):
        list(Channel(other).receive_batches())
    other.close()


def test_partial_sends_are_finished() -> None:
    class Reluctant:
        taken = b""

        def sendmsg(self, pieces: list[memoryview]) -> int:
            part = b"".join(pieces)[:7]
            self.taken += part
            return len(part)

    peer = Reluctant()
    under_test.send_pieces(peer, [b"0123456789", b"", b"abcdefghij"])  # type: ignore[arg-type]
    assert peer.taken == b"0123456789abcdefghij"


def test_a_frame_too_large_to_be_one_is_refused() -> None:
    with pytest.raises(frames.MalformedFrameError, match="announcing 1195725856"):
        frames.body_size(b"GET ")


def test_a_frame_of_the_limit_is_the_longest() -> None:
    assert frames.body_size((100).to_bytes(4, "big"), 100) == 100
    with pytest.raises(frames.MalformedFrameError, match=r"at most 100 bytes, found .* 101"):
        frames.body_size((101).to_bytes(4, "big"), 100)


def test_a_failure_says_ours_first() -> None:
    ours = KeyfoldError("could not write t")
    ours.__cause__ = OSError("disk full")
    error = frames.failure(ours, "writing")["error"]
    assert error["message"] == "could not write t"
    assert error["cause"] == "OSError: disk full"


def test_a_cause_that_the_message_tells_is_not_told_twice() -> None:
    ours, told = KeyfoldError("table t, key (k = 1): it is odd"), ValueError("it is odd")
    told.__cause__ = ZeroDivisionError("division by zero")
    ours.__cause__ = told
    assert frames.failure(ours, "")["error"]["cause"] == "ZeroDivisionError: division by zero"
    told.__cause__ = None
    assert frames.failure(ours, "")["error"]["cause"] is None


def test_a_traceback_comes_with_what_nobody_foresaw_or_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sent(error: Exception) -> bool:
        return frames.failure(error, "writing")["error"]["traceback"] is not None

    mistakes = TableError("no column v"), OSError(errno.ENOSPC, "no space", "/t/data")
    assert [sent(error) for error in (ValueError("a bug"), OSError("a store's"))] == [True, True]
    assert [sent(error) for error in mistakes] == [False, False]
    monkeypatch.setenv("KEYFOLD_TRACEBACK", "1")
    assert [sent(error) for error in mistakes] == [True, True]


def test_a_foreign_failure_says_what_was_done() -> None:
    error = frames.failure(ZeroDivisionError("division by zero"), "reading table t")["error"]
    assert error["message"] == "reading table t failed: ZeroDivisionError: division by zero"
    assert error["kind"] == "KeyfoldError"


def test_ahead_keeps_items_and_the_error() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise ValueError("at the end")

    made = ahead(items())
    assert [next(made) for _ in range(5)] == list(range(5))
    with pytest.raises(ValueError, match="at the end"):
        next(made)
    made = ahead(iter(range(3)))
    assert list(made) == [0, 1, 2]
    assert list(made) == []


_INSIDE = pa.struct(
    [
        pa.field("t", pa.large_string(), False),
        pa.field("d", pa.decimal128(5, 2), False),
        pa.field("l", pa.list_(pa.field("e", pa.string(), False)), False),
        pa.field("m", pa.map_(pa.string(), pa.field("v", pa.int32(), False)), False),
    ]
)
_VALUE = {"t": "ß", "d": Decimal("1.50"), "l": ["x"], "m": [("k", 1)]}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (_INSIDE, [_VALUE, None, _VALUE]),
        (pa.struct([pa.field("s", _INSIDE, False)]), [None, {"s": _VALUE}]),
        (pa.list_(pa.field("e", _INSIDE, False)), [[_VALUE], None, []]),
        (pa.map_(pa.large_string(), _INSIDE), [[("a", _VALUE), ("b", None)], None, []]),
        (pa.large_binary(), [b"\xff", None]),
        (pa.timestamp("us", "UTC"), [1, None]),
        (pa.date32(), [1, None]),
        (pa.bool_(), [True, None]),
        (pa.float32(), [1.5, None]),
        (pa.null(), [None, None]),
    ],
    ids=str,
)
def test_every_type_arrives_whole_sliced_and_empty(
    pair: Pair, kind: pa.DataType, values: list[object]
) -> None:
    whole = pa.record_batch({"c": pa.array(values, kind)})
    sent = [whole, whole.slice(1), whole.slice(0, 0)]
    pair[0].send_batches(whole.schema, iter(sent))
    got = pa.Table.from_batches(pair[1].receive_batches(), whole.schema)
    assert got == pa.Table.from_batches(sent)


def test_text_that_is_no_utf_8_arrives(pair: Pair) -> None:
    for kind in (pa.string(), pa.large_string()):
        text = pa.array([b"\xff\xfe"], pa.binary()).cast(
            pa.binary() if kind == pa.string() else pa.large_binary()
        )
        sent = pa.record_batch({"t": text.view(kind)})
        pair[0].send_batches(sent.schema, iter([sent]))
        (got,) = pair[1].receive_batches()
        assert got.column("t").view(text.type) == text


def test_a_null_struct_may_hold_nulls_that_its_fields_do_not_allow(pair: Pair) -> None:
    """So Spark sends it."""
    kind = pa.struct([pa.field("t", pa.large_string(), False)])
    inside = pa.array([None, "x"], pa.large_string())
    flags = pa.py_buffer(b"\x02")
    sent = pa.record_batch({"s": pa.Array.from_buffers(kind, 2, [flags], children=[inside])})
    pair[0].send_batches(sent.schema, iter([sent]))
    (got,) = pair[1].receive_batches()
    assert got.column("s").to_pylist() == [None, {"t": "x"}]
