"""Retractions from end to end: a feed of changes that a table passes on as they came
(`changelog-producer` = `input`), sums of them, and sums of the changes of these.
"""

from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa

import keyfold
from keyfold import Catalog, Table

CUSTOMERS, TIERS, ROUNDS = 60, 3, 8
Event = dict[str, object]


def summed(catalog: Catalog, name: str, key: str) -> Table:
    options = {"merge-engine": "aggregation", "num-sorted-run.compaction-trigger": "2"}
    options |= {"num-levels": "6", "compaction.max-size-amplification-percent": "400"}
    options |= {f"fields.{column}.aggregate-function": "sum" for column in ("total", "rows")}
    columns = {key: "INT", "total": "BIGINT", "rows": "BIGINT"}
    return catalog.create_table(name, columns, [key], options=options | {"write-only": "true"})


def feed(random: Random, orders: dict[int, tuple[int, int]]) -> list[Event]:
    """Changes of orders, a customer and an amount each: inserts, updates and deletes."""
    found: list[Event] = []
    for _ in range(30):
        number = random.randrange(40)
        before, after = orders.get(number), (random.randrange(CUSTOMERS), random.randrange(100))
        if before is not None:
            is_deleted = random.random() < 0.3
            found.append(event("-D" if is_deleted else "-U", number, before))
            del orders[number]
            if is_deleted:
                continue
        orders[number] = after
        found.append(event("+I" if before is None else "+U", number, after))
    return found


def event(kind: str, number: int, order: tuple[int, int]) -> Event:
    return {"op": kind, "number": number, "customer": order[0], "total": order[1], "rows": 1}


def passing_on(catalog: Catalog) -> Table:
    """A table of orders whose changes are what was written."""
    columns = {"number": "INT", "customer": "INT", "total": "BIGINT", "rows": "BIGINT"}
    options = {"changelog-producer": "input", "num-sorted-run.compaction-trigger": "2"}
    options |= {"write-only": "true"}
    return catalog.create_table("o", columns, ["number"], options=options)


def changes(table: Table, seen: int) -> list[Event]:
    """The changes since a snapshot, with their kinds as `op`."""
    found = table.changes(seen, view="audit_log").to_pylist()
    return [{"op": one.pop("rowkind"), **one} for one in found]


def test_sums_of_sums_are_a_group_by(tmp_path: Path, seed: int) -> None:
    random, catalog = Random(seed), keyfold.connect(tmp_path, threads=2)
    feeding = passing_on(catalog)
    customers, tiers = summed(catalog, "c", "customer"), summed(catalog, "t", "tier")
    orders: dict[int, tuple[int, int]] = {}
    late: list[Event] = []
    read = seen = 0
    for number in range(ROUNDS):
        # Some come later than others, so that a retraction may be before what it takes back from.
        coming, late, some = late + feed(random, orders), [], []
        for one in coming:
            is_late = number + 1 < ROUNDS and random.random() < 0.2
            (late if is_late else some).append(one)
        feeding.upsert(pa.Table.from_pylist(some), row_kind="op")
        tidied(random, feeding)
        passed = changes(feeding, read)
        assert len(passed) == len(some)
        read = feeding.snapshot
        arrived = pa.Table.from_pylist(passed).drop_columns("number")
        customers.upsert(arrived, row_kind="op")
        tidied(random, customers)
        told = [
            {"op": one["op"], "tier": one["customer"] % TIERS, "total": one["total"], "rows": 1}
            for one in changes(customers, seen)
        ]
        seen = customers.snapshot
        if told:
            tiers.upsert(pa.Table.from_pylist(told), row_kind="op")
        tidied(random, tiers)
    totals: Counter[int] = Counter()
    for customer, amount in orders.values():
        totals[customer] += amount
    found = customers.scan().to_pylist()
    assert {one["customer"]: one["total"] for one in found if one["rows"]} == dict(totals)
    assert not any(one["total"] for one in found if not one["rows"])
    by_tier: Counter[int] = Counter()
    for customer, total in totals.items():
        by_tier[customer % TIERS] += total
    assert {one["tier"]: one["total"] for one in tiers.scan().to_pylist()} == dict(by_tier)
    counted = Counter(one["customer"] % TIERS for one in found)
    assert {one["tier"]: one["rows"] for one in tiers.scan().to_pylist()} == dict(counted)


def tidied(random: Random, table: Table) -> None:
    strategy = random.choice(("", "minor", "minor", "full"))
    if strategy:
        table.compact(strategy)
