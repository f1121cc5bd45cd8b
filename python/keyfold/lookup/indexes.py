"""Files that hold none of some keys, as their indexes say.

A file without a key has no part in what is merged for the key, so that it need not be opened.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfold.files.column_mapping import StoredColumn, sources
from keyfold.files.indexes.reading import Indexes, stored_indexes
from keyfold.kernels.keys.membership import Flags
from keyfold.lookup.key_places import BucketOfKeys
from keyfold.read.keyset import KeySet
from keyfold.stores.opened import store_of
from keyfold.types.logical import with_nullability
from keyfold.wire.specs import ScanSpec

MOST_KEYS = 64  # of more, most files hold one


def without_others(scan: ScanSpec, place: BucketOfKeys, wanted: KeySet, flags: Flags) -> Flags:
    """The flags of the files of a bucket, less those whose indexes say that none of the keys is in
    them.
    """
    if not place.indexes or len(wanted) > MOST_KEYS:
        return flags
    store, found = store_of(scan.layout.location, scan.layout.store), flags.copy()
    for at in np.flatnonzero(flags).tolist():
        if place.indexes[at]:
            named = sources(scan, place.files[at].schema_id, wanted.names)
            names = tuple(source.name for source in named)
            indexes = stored_indexes(store, place.split.path, place.indexes[at], names)
            found[at] = _may_hold(named, indexes, wanted)
    return found


def _may_hold(named: Sequence[StoredColumn], indexes: Indexes, wanted: KeySet) -> bool:
    """Whether a file may hold one of the keys; values of a type that it was not written in are not
    asked for.
    """
    checks = []
    for at, source in enumerate(named):
        kind, known = source.target.type, indexes.get(source.name)
        is_same = (
            source.stored is not None and with_nullability(source.stored, kind.nullable) == kind
        )
        tells = known.tells(kind) if known is not None and is_same else None
        if tells is not None:
            checks.append((at, tells))
    return not checks or any(
        all(key[at][1] is None or tells(key[at][1]) for at, tells in checks)
        for key in wanted.values
    )
