"""What was sold, and the answers to the shop's questions, in plain Python."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]


def sales() -> Rows:
    """The rows of views.sql."""
    return [
        {
            "id": number,
            "item": number % 40,
            "shop": number % 3,
            "quantity": number % 7,
            "buyer": None if number % 5 == 0 else number * 13 % 1009,
            "moment": number * 7919 % 2003,
        }
        for number in range(2000)
    ]


def total(shop: int, item: int, sold: Rows) -> dict[str, Any]:
    """A row of totals: its sales by their times."""
    quantities, last = [sale["quantity"] for sale in sold], sold[-1]
    row = {"shop": shop, "item": item, "sales": len(sold), "quantity": sum(quantities)}
    known = {} if last["buyer"] is None else {"buyer": last["buyer"]}
    return {**row, "best": max(quantities), **known, "moment": last["moment"]}


def order(sale: dict[str, Any]) -> dict[str, Any]:
    """A row of orders: what the feeds know of a sale."""
    number, row = sale["id"], {"id": sale["id"]}
    paid = {"paid": sale["moment"], "amount": sale["quantity"]} if number < 300 else {}
    sent = {"sent": sale["moment"], "carrier": f"c{sale['shop']}"} if number >= 200 else {}
    return {**row, **paid, **sent}


def answers() -> dict[str, Rows]:
    """What questions.sql finds; a NULL is left out, as JSON has it there."""
    by_time = sorted(sales(), key=lambda sale: sale["moment"])
    shops, items, kinds = range(3), range(40), ",".join(f"i{n}" for n in range(10))
    of = {
        (shop, item): [s for s in by_time if (s["shop"], s["item"]) == (shop, item)]
        for shop in shops
        for item in items
    }
    totals = [total(*key, sold) for key, sold in of.items()]
    newest = {sale["item"]: sale for sale in by_time}
    latest = [{name: newest[item][name] for name in ("item", "shop", "moment")} for item in items]
    buyers = [{s["buyer"] for s in by_time if s["shop"] == shop} - {None} for shop in shops]
    return {
        "totals": totals,
        "latest": latest,
        "orders": [order(sale) for sale in sales()[:400]],
        "joined": [
            {
                "shop": shop,
                "quantity": sum(row["quantity"] for row in totals if row["shop"] == shop),
                "moment": max(row["moment"] for row in latest),
            }
            for shop in shops
        ],
        "shops": [{"shop": s, "buyers": len(buyers[s]), "kinds": kinds} for s in shops],
        "every_buyer": [{"buyers": len(set().union(*buyers))}],
        "item": [latest[7]],
    }
