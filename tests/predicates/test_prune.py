"""What a condition leaves out: never a bucket that holds a key it asks for."""

from pathlib import Path

import pyarrow as pa

from keyfold.files.buckets import buckets_of
from keyfold.predicates.prune import pruning
from keyfold.wire.predicates import Constant, Named, Predicate
from tests.storage import tables

BUCKETS = 5


def test_the_bucket_of_a_key_is_kept_and_no_other(tmp_path: Path) -> None:
    """Half of the hashes are below zero."""
    table = tables.table(tmp_path, tables.new_table(bucket=f"{BUCKETS}"))
    rows = pa.record_batch({"k": pa.array(range(-50, 50), pa.int64())})
    for key, bucket in enumerate(buckets_of(table.layout, table.options, rows), -50):
        asked = [Predicate("=", (Named(("k",)), Constant(key, "long")))]
        keeps = pruning(table.layout, table.options, asked).bucket_filter
        assert keeps is not None
        assert [n for n in range(BUCKETS) if keeps(n, BUCKETS)] == [bucket], key
