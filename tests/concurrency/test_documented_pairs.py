"""docs/concurrency.md has a line for each pair of jobs that a test tries, and no other."""

import re
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "concurrency.md"
FILES = (
    "test_pairs.py",
    "test_meanwhile.py",
    "test_isolation.py",
    "test_history.py",
    "test_dynamic.py",
)
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)

# The job under way, what commits meanwhile, and the tests of this pair. Two expiries run at once in
# test_killed.py, an expiry beside a DROP in tests/storage/maintenance/test_expire.py, and jobs with
# keys across partitions in tests/write/keys/test_across_partitions.py.
_ACROSS = "INSERT, UPDATE, MERGE or DELETE with keys across partitions"
TESTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("INSERT", "INSERT"): ("test_append_during_append",),
    ("INSERT OVERWRITE", "INSERT"): ("test_append_during_overwrite",),
    ("INSERT", "INSERT OVERWRITE"): ("test_overwrite_during_append",),
    ("INSERT OVERWRITE", "INSERT OVERWRITE"): ("test_overwrite_during_overwrite",),
    ("compaction", "INSERT"): ("test_append_during_compaction",),
    ("INSERT", "compaction"): ("test_compaction_during_append",),
    ("compaction", "compaction"): ("test_compaction_during_compaction",),
    ("compaction", "INSERT OVERWRITE"): ("test_overwrite_during_compaction",),
    ("INSERT OVERWRITE", "compaction"): ("test_compaction_during_overwrite",),
    ("INSERT", "DELETE"): ("test_delete_during_append",),
    ("INSERT", "UPDATE, MERGE"): ("test_update_during_append",),
    ("compaction", "DELETE, UPDATE, MERGE"): ("test_change_during_compaction",),
    ("INSERT", "DROP PARTITION, TRUNCATE, DELETE that takes files"): (
        "test_drop_partition_during_append",
    ),
    ("INSERT OVERWRITE", "DROP PARTITION"): ("test_drop_partition_during_overwrite",),
    ("compaction", "DROP PARTITION"): ("test_drop_partition_during_compaction",),
    ("REPLACE WHERE", "INSERT"): ("test_append_during_replace",),
    ("INSERT", "REPLACE WHERE"): ("test_replace_during_append",),
    ("REPLACE WHERE", "REPLACE WHERE"): ("test_replace_during_replace",),
    ("`sys.rescale`", "INSERT, OVERWRITE, DELETE"): ("test_append_during_rescale",),
    ("INSERT, INSERT OVERWRITE", "`sys.rescale`"): ("test_rescale_during_append",),
    ("compaction", "`sys.rescale`"): ("test_rescale_during_compaction",),
    ("`sys.rescale`", "compaction"): ("test_compaction_during_rescale",),
    ("`sys.rescale`", "DROP PARTITION"): ("test_drop_partition_during_rescale",),
    ("`sys.rescale`", "`sys.rescale`"): ("test_rescale_during_rescale",),
    ("`sys.rescale`", "ALTER TABLE"): ("test_alter_during_rescale",),
    ("`sys.rescale`", "`sys.rollback`, repeated with its token"): (
        "test_a_rollback_is_repeated_during_a_rescale",
    ),
    ("SELECT", "`sys.rescale`"): ("test_rescale_during_read",),
    ("INSERT", "DROP TABLE"): ("test_drop_during_append",),
    ("INSERT", "DROP and CREATE, REPLACE"): ("test_drop_and_create_during_append",),
    ("compaction", "DROP TABLE, REPLACE"): ("test_drop_during_compaction",),
    ("INSERT", "ALTER TABLE"): ("test_alter_during_append",),
    ("compaction", "ALTER TABLE"): ("test_alter_during_compaction",),
    ("INSERT OVERWRITE", "DELETE"): ("test_delete_during_overwrite",),
    ("INSERT OVERWRITE", "UPDATE, MERGE"): ("test_change_during_overwrite",),
    ("INSERT OVERWRITE", "ALTER TABLE"): ("test_alter_during_overwrite",),
    ("INSERT OVERWRITE", "DROP TABLE, REPLACE"): ("test_drop_during_overwrite",),
    ("DELETE, UPDATE, MERGE", "INSERT of a key that the statement writes"): (
        "test_append_during_change",
    ),
    ("DELETE, UPDATE, MERGE", "INSERT of other keys"): ("test_append_elsewhere_during_change",),
    ("DELETE, UPDATE, MERGE", "DELETE, UPDATE, MERGE of other keys, between its own"): (
        "test_scattered_change_during_change",
    ),
    ("MERGE that inserts a key", "MERGE that inserts it too"): (
        "test_insert_of_a_key_during_merge",
    ),
    ("MERGE … WHEN NOT MATCHED BY SOURCE", "INSERT of rows that it would have changed"): (
        "test_append_during_merge",
    ),
    (
        "UPDATE of a row by what another row holds",
        "UPDATE of that row by what the first one holds",
    ): ("test_skew_during_change",),
    ("DELETE, UPDATE, MERGE", "`sys.rollback` of the snapshot that it read"): (
        "test_rollback_during_change",
    ),
    ("DELETE, UPDATE, MERGE", "DELETE, UPDATE, MERGE of keys that the statement writes"): (
        "test_change_during_change",
    ),
    ("DELETE, UPDATE, MERGE", "compaction"): ("test_compaction_during_change",),
    ("DELETE, UPDATE, MERGE", "`sys.rescale`"): ("test_rescale_during_change",),
    ("DELETE, UPDATE, MERGE", "INSERT, expiry"): ("test_expiry_during_change",),
    ("DELETE, UPDATE, MERGE", "INSERT OVERWRITE, TRUNCATE"): ("test_overwrite_during_change",),
    ("DELETE, UPDATE, MERGE", "DROP TABLE, REPLACE"): ("test_drop_during_change",),
    ("ALTER TABLE", "INSERT"): ("test_append_during_alter",),
    ("ALTER TABLE", "ALTER TABLE"): ("test_alter_during_alter",),
    ("DROP TABLE", "INSERT"): ("test_append_during_drop",),
    ("SELECT", "INSERT, OVERWRITE, compaction, ALTER TABLE"): ("test_commit_during_read",),
    ("SELECT", "DROP TABLE"): ("test_drop_during_read",),
    ("INSERT", "expiry"): ("test_expiry_during_append",),
    ("compaction", "expiry"): ("test_expiry_during_compaction",),
    ("SELECT", "expiry"): ("test_expiry_during_read",),
    ("expiry", "expiry"): (),
    ("expiry", "DROP, REPLACE"): (),
    ("INSERT", "`remove_orphan_files`"): ("test_orphan_removal_during_append",),
    ("INSERT", "`sys.rollback`"): (
        "test_rollback_during_append",
        "test_rollback_and_others_during_append",
    ),
    ("`sys.rollback`", "INSERT, compaction"): (
        "test_append_during_rollback",
        "test_compaction_during_rollback",
    ),
    ("`sys.rollback`, `sys.fast_forward`", "the same with the same token"): (
        "test_rollback_during_rollback",
        "test_forwarding_during_forwarding",
    ),
    ("compaction", "`sys.rollback`"): ("test_rollback_during_compaction",),
    ("SELECT", "`sys.rollback`"): (
        "test_rollback_during_read",
        "test_rollback_with_a_token_during_read",
    ),
    ("expiry", "`sys.rollback`"): ("test_rollback_during_expiry",),
    ("`sys.rollback`", "expiry"): ("test_expiry_during_rollback",),
    ("CREATE TAG", "expiry"): ("test_expiry_during_tagging",),
    ("expiry", "CREATE TAG"): ("test_tagging_during_expiry", "test_late_tagging_during_expiry"),
    ("`sys.rollback`", "CREATE TAG"): ("test_tagging_during_rollback",),
    ("`sys.create_branch`", "DELETE TAG"): ("test_untagging_during_branching",),
    ("`sys.fast_forward`", "INSERT"): ("test_append_during_forwarding",),
    ("INSERT into dynamic buckets", "INSERT of other new keys"): (
        "test_other_keys_during_assignment",
    ),
    ("INSERT into dynamic buckets", "INSERT of the same new keys"): (
        "test_same_keys_during_assignment",
    ),
    ("INSERT into dynamic buckets", "INSERT OVERWRITE, TRUNCATE"): (
        "test_overwrite_during_assignment",
    ),
    ("INSERT into dynamic buckets", "compaction"): ("test_compaction_during_assignment",),
    (_ACROSS, "the same, with other keys"): (),
    (_ACROSS, "the same, with a key of both that is new or moves"): (),
}


def test_each_case_is_documented() -> None:
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", DOCUMENT.read_text(encoding="utf-8"))
    head, *rows = ROW.findall(text.replace("|---|---|---|\n", ""))
    assert head == ("under way", "commits meanwhile")
    assert rows == list(TESTS)


def test_each_line_has_its_tests() -> None:
    text = "".join((HERE / file).read_text(encoding="utf-8") for file in FILES)
    cases = re.findall(r"^def (test_\w+_during_\w+)\(", text, re.MULTILINE)
    assert sorted(name for names in TESTS.values() for name in names) == sorted(cases)
