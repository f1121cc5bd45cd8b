"""The form of Paimon's cases: changes of four kinds, options as Paimon spells them."""

from integration.conformance import tables, words
from integration.conformance.case import (
    Case,
    Changelog,
    Elements,
    Estimates,
    Expectation,
    Raw,
    Refusal,
    Rows,
)

FUNCTION = "fields.{}.aggregate-function"
# The function that keeps a column for kinds out of everything, by engine.
HARMLESS = {"aggregation": "last_value", "partial-update": "last_non_null_value"}
TOLD_BY_COMPACTIONS = ("lookup", "full-compaction")
PHASES = {"create": "create", "write": "write", "commit": "write", "read": "read"}


def is_form(raw: Raw) -> bool:
    """Whether a case has this form."""
    engines = ("deduplicate", "partial-update", "aggregation", "first-row")
    return raw["engine"] in engines and "table.merge-engine" not in raw["options"]


def read(raw: Raw, layout: str) -> Case:
    """The case; ValueError or KeyError where it has not this form."""
    with_kind = tables.needs_kinds(raw)
    columns = [*raw["columns"], *([[tables.KIND, "STRING"]] if with_kind else [])]
    options = dict(raw["options"])
    if with_kind:
        options[tables.KIND_FIELD] = tables.KIND
        if raw["engine"] in HARMLESS:
            options[FUNCTION.format(tables.KIND)] = HARMLESS[raw["engine"]]
    hides_new = options.get("deletion-vectors.enabled") == "true"
    if hides_new or options.get("changelog-producer") in TOLD_BY_COMPACTIONS:
        options.setdefault("write-only", "false")
    options = {"merge-engine": raw["engine"], **tables.laid_out(options, layout, "bucket")}
    create = tables.create(columns, raw["primary_key"], options, raw.get("partition_by") or ())
    writes = (tables.inserts(commit, with_kind) for commit in raw["commits"])
    return Case(
        id=raw["id"],
        about=raw.get("about", ""),
        create=create,
        columns=[(name, kind) for name, kind in raw["columns"]],
        commits=[*tables.with_compactions(writes, layout, raw.get("compact_after") or ())],
        accepted=accepted(raw),
        functions={n: options.get(FUNCTION.format(n), "") for n, _ in raw["columns"]},
        declared=words.declared(raw),
        configured=words.configured(raw),
        key=raw["primary_key"],
        changes=changes(raw),
    )


def changes(raw: Raw) -> Changelog | None:
    """The changelog of a case, a list for each snapshot that has changes."""
    if "expect_changelog" not in raw:
        return None
    groups = [[(one["kind"], one["row"]) for one in group] for group in raw["expect_changelog"]]
    return Changelog(groups, is_exact=raw["options"].get("changelog-producer") == "input")


def accepted(raw: Raw) -> list[Expectation]:
    """What passes: the result of the layout that never compacts, and where the semantics depend on
    what was merged when, that of any other.
    """
    free = frozenset(raw.get("unordered") or ())
    results: list[Expectation] = []
    if "expect" in raw:
        results.append(Rows(raw["expect"], free))
    if "expect_elements" in raw:
        results.append(Elements(raw["expect_elements"]))
    if "expect_estimate" in raw:
        results.append(Estimates(raw["expect_estimate"]))
    if "expect_error" in raw:
        results.append(Refusal(raw["expect_error"], PHASES[raw.get("error_phase", "read")]))
    if raw.get("path_dependent"):
        for other in raw.get("expect_by_layout") or ():
            results.append(
                Rows(other["rows"], free) if "rows" in other else Refusal(other["error"])
            )
    return results
