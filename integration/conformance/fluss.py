"""The form of Fluss' cases: options as Fluss spells them, target columns and merge modes."""

import pyarrow as pa

from integration.conformance import periods, tables, words
from integration.conformance.case import (
    Case,
    Changelog,
    Expectation,
    Insert,
    Lookup,
    Numbered,
    Raw,
    Refusal,
    Rows,
)
from keyfold.files.paimon_values import hashes
from keyfold.types.logical import Atomic
from keyfold.wire.layout import Column, TableLayout

ENGINE = "table.merge-engine"
IMAGE = "table.changelog.image"
CACHE_SIZE = "table.auto-increment.cache-size"


def is_form(raw: Raw) -> bool:
    """Whether a case has this form."""
    return raw["engine"] in ("default", "aggregation", "first_row", "versioned")


def read(raw: Raw, layout: str) -> Case:
    """The case; ValueError or KeyError where it has not this form."""
    raw = periods.as_rows(raw) if "auto_partition" in raw else raw
    with_kind = tables.needs_kinds(raw)
    columns = [*raw["columns"], *([[tables.KIND, "STRING"]] if with_kind else [])]
    options = dict(raw["options"])
    if with_kind:
        options[tables.KIND_FIELD] = tables.KIND
        if options.get(ENGINE) == "aggregation":
            options[f"fields.{tables.KIND}.agg"] = "last_value"
    if IMAGE in options:  # then each commit tells its changes
        options.setdefault("write-only", "false")
    options = tables.laid_out(options, layout, "bucket.num")
    writes = (_inserts(raw, commit, with_kind) for commit in raw["commits"])
    return Case(
        id=raw["id"],
        about=raw.get("about", ""),
        create=tables.create(columns, raw["primary_key"], options, raw.get("partition_by") or ()),
        columns=[(name, kind) for name, kind in raw["columns"]],
        commits=[*tables.with_compactions(writes, layout)],
        accepted=accepted(raw),
        functions={n: options.get(f"fields.{n}.agg", "") for n, _ in raw["columns"]},
        lookups=[_lookup(one) for one in raw.get("lookups") or ()],
        declared=words.declared(raw),
        configured=words.configured(raw),
        key=raw["primary_key"],
        changes=changes(raw),
    )


def changes(raw: Raw) -> Changelog | None:
    """The changelog of a case, which is one list of kinds and rows."""
    if "expect_changelog" not in raw:
        return None
    is_by_record = raw.get("changelog_granularity") == "row"
    rows = [(kind, row) for kind, *row in raw["expect_changelog"]]
    has_before = raw["options"].get(IMAGE, "").upper() != "WAL"
    return Changelog([rows], has_commits=False, is_by_record=is_by_record, has_before=has_before)


def _inserts(raw: Raw, commit: list[Raw], with_kind: bool) -> list[Insert]:
    """A -U is dropped, and of a -D only the key counts; NOT NULL columns need a value even so."""
    key = {*raw["primary_key"], *(n for n, kind in raw["columns"] if kind.endswith("NOT NULL"))}
    changes = []
    for change in commit:
        if change["kind"] == "-D":
            pairs = zip(raw["columns"], change["row"], strict=True)
            change = {**change, "row": [cell if c[0] in key else None for c, cell in pairs]}
        if change["kind"] != "-U":
            changes.append(change)
    return list(tables.inserts(changes, with_kind))


def _lookup(raw: Raw) -> Lookup:
    expected = Rows(raw["expect"]) if "expect" in raw else Refusal(raw["expect_error"])
    by = tuple(raw["by"]) if "by" in raw else None
    return Lookup(raw["key"], by, expected, bool(raw.get("insert_if_not_exists")))


def accepted(raw: Raw) -> list[Expectation]:
    """What passes. Where document and code of Fluss disagree we do as the document says, but for
    what Fluss refuses: a combination that is not supported is refused at CREATE.
    """
    results: list[Expectation] = []
    if "expect" in raw:
        results.append(Rows(raw["expect"]))
    if "expect_error" in raw:
        results.append(Refusal(raw["expect_error"]))
    if "expect_invariants" in raw:
        results.append(_numbered(raw))
    if "alt_expect_error" in raw:
        results.append(Refusal(raw["alt_expect_error"], "create"))
    return results


def _numbered(raw: Raw) -> Numbered:
    told, at_once = raw["expect_invariants"], int(raw["options"].get(CACHE_SIZE, "100000"))
    wanted = told.get("bucket_of", {})
    found = _buckets(told.get("keys", list(wanted)), int(raw["options"]["bucket.num"]))
    pairs = {(name, found[key]) for key, name in wanted.items()}
    is_so = len(pairs) == len(set(wanted.values())) == len({number for _, number in pairs})
    ids = dict(told.get("if_buckets_are_so_then_rows", ())) if is_so else {}
    return Numbered(found, at_once, ids)


def _buckets(keys: list[str], count: int) -> dict[str, int]:
    """The bucket of each text, as of the only column of a key."""
    layout = TableLayout("t", "", 0, (Column(0, "k", Atomic("STRING")),), ("k",))
    hashed = hashes(layout, ("k",), [pa.array(keys)])
    return {key: abs(int(number)) % count for key, number in zip(keys, hashed, strict=True)}
