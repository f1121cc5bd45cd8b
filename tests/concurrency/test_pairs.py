"""What happens when one job commits while another is under way, for each pair of kinds: the other
runs whole, in a process of its own, between two steps of the first.

docs/concurrency.md is the table of these cases.
"""

from pathlib import Path

import pytest

from keyfold.errors import ConflictError, SnapshotExpiredError
from keyfold.kernels.ops import UPDATE_AFTER
from tests.concurrency import jobs
from tests.concurrency.conftest import ADDED, NEW, rows
from tests.concurrency.jobs import Changes, Compact, Rescale, Write
from tests.concurrency.processes import elsewhere
from tests.read import harness
from tests.storage import tables


def test_append_during_append(folder: str) -> None:
    """Both are there; of a key written by both, the row of the job that was planned last."""
    job = Write(folder, [{"k": 1, "v": 11}, {"k": 2, "v": 22}]).run()
    elsewhere(jobs.written, folder, NEW)
    job.commit()
    assert rows(folder) == {1: 11, 2: 200, 3: 300}


def test_append_during_overwrite(folder: str) -> None:
    """An overwrite replaces what is there when it commits."""
    job = Write(folder, [{"k": 7, "v": 70}], "overwrite").run()
    elsewhere(jobs.written, folder, NEW)
    job.commit()
    assert rows(folder) == {7: 70}


def test_overwrite_during_append(folder: str) -> None:
    """The appended rows come on top, under the rows of the overwrite, which was planned later."""
    job = Write(folder, [{"k": 1, "v": 11}, {"k": 2, "v": 22}]).run()
    elsewhere(jobs.written, folder, NEW, "overwrite")
    job.commit()
    assert rows(folder) == {1: 11, 2: 200, 3: 300}


def test_overwrite_during_overwrite(folder: str) -> None:
    """The one that commits last replaces the other."""
    job = Write(folder, [{"k": 7, "v": 70}], "overwrite").run()
    elsewhere(jobs.written, folder, NEW, "overwrite")
    job.commit()
    assert rows(folder) == {7: 70}


def test_append_during_compaction(folder: str) -> None:
    """Neither notices the other: the new run comes after what was merged."""
    job = Compact(folder).run()
    elsewhere(jobs.written, folder, NEW)
    assert job.commit() == ["committed"]
    assert rows(folder) == {1: 10, 2: 200, 3: 300}


def test_compaction_during_append(folder: str) -> None:
    """A job that was planned before comes after what a compaction merged meanwhile."""
    job = Write(folder, [{"k": 1, "v": 11}]).run()
    elsewhere(jobs.written, folder, NEW)
    assert elsewhere(jobs.compacted, folder) == ["committed"]
    job.commit()
    assert rows(folder) == {1: 11, 2: 200, 3: 300}


def test_compaction_during_compaction(folder: str) -> None:
    """One of two compactions of a bucket gives up; nothing is lost."""
    job = Compact(folder).run()
    assert elsewhere(jobs.compacted, folder) == ["committed"]
    before = jobs.table_of(folder).snapshot_id
    assert job.commit() == ["conflict"]
    assert jobs.table_of(folder).snapshot_id == before
    assert rows(folder) == {1: 10, 2: 20}


def test_overwrite_during_compaction(folder: str) -> None:
    """The compaction gives up: what it merged is gone."""
    job = Compact(folder).run()
    elsewhere(jobs.written, folder, NEW, "overwrite")
    assert job.commit() == ["conflict"]
    assert rows(folder) == {2: 200, 3: 300}


def test_compaction_during_overwrite(folder: str) -> None:
    """The overwrite replaces what the compaction made of the files."""
    job = Write(folder, [{"k": 7, "v": 70}], "overwrite").run()
    assert elsewhere(jobs.compacted, folder) == ["committed"]
    job.commit()
    assert rows(folder) == {7: 70}


def test_delete_during_append(folder: str) -> None:
    """The rows of the job are folded where it began: before the DELETE, which was planned later."""
    job = Write(folder, [{"k": 1, "v": 11}, {"k": 3, "v": 30}]).run()
    elsewhere(jobs.deleted, folder, 1)
    assert rows(folder) == {2: 20}
    job.commit()
    assert rows(folder) == {2: 20, 3: 30}


def test_update_during_append(folder: str) -> None:
    """The same: the UPDATE counts."""
    job = Write(folder, [{"k": 1, "v": 11}, {"k": 3, "v": 30}]).run()
    elsewhere(jobs.updated, folder, 1, 5)
    job.commit()
    assert rows(folder) == {1: 5, 2: 20, 3: 30}


def test_change_during_compaction(folder: str) -> None:
    """Both are there."""
    job = Compact(folder).run()
    elsewhere(jobs.deleted, folder, 1)
    elsewhere(jobs.updated, folder, 2, 5)
    assert job.commit() == ["committed"]
    assert rows(folder) == {2: 5}


def test_change_during_overwrite(folder: str) -> None:
    """The overwrite replaces what is stored when it commits."""
    job = Write(folder, NEW, "overwrite").run()
    elsewhere(jobs.updated, folder, 1, 5)
    job.commit()
    assert rows(folder) == {2: 200, 3: 300}


def test_rescale_during_change(folder: str) -> None:
    job = Changes(folder, [(UPDATE_AFTER, {"k": 1, "v": 5})]).run()
    elsewhere(jobs.rescaled, folder, 3)
    with pytest.raises(ConflictError):
        job.commit()
    assert rows(folder) == {1: 10, 2: 20}


@pytest.fixture
def parted(tmp_path: Path) -> str:
    """A warehouse with a table of two partitions, a row each."""
    columns = (tables.column("p"), tables.column("k"), tables.column("v"))
    tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p", bucket="1"))
    jobs.written(str(tmp_path), [{"p": 1, "k": 1, "v": 10}, {"p": 2, "k": 2, "v": 20}])
    return str(tmp_path)


ONE = [harness.where("=", "p", 1)]


def test_drop_partition_during_append(parted: str) -> None:
    """DROP PARTITION takes what is there when it commits; rows that come later stay."""
    job = Write(parted, [{"p": 1, "k": 3, "v": 30}]).run()
    assert elsewhere(jobs.partition_dropped, parted, 1)
    assert rows(parted) == {2: 20}
    job.commit()
    assert rows(parted) == {2: 20, 3: 30}


def test_drop_partition_during_overwrite(parted: str) -> None:
    """The overwrite's rows are there, and the dropped ones are not."""
    job = Write(parted, [{"p": 1, "k": 3, "v": 30}], "overwrite_dynamic").run()
    assert elsewhere(jobs.partition_dropped, parted, 1)
    job.commit()
    assert rows(parted) == {2: 20, 3: 30}


def test_drop_partition_during_compaction(parted: str) -> None:
    """Steps of that partition are given up, those of others are not."""
    jobs.written(parted, [{"p": 1, "k": 1, "v": 11}, {"p": 2, "k": 2, "v": 21}])
    job = Compact(parted).run()
    assert elsewhere(jobs.partition_dropped, parted, 1)
    assert sorted(job.commit()) == ["committed", "conflict"]
    assert rows(parted) == {2: 21}


def test_append_during_replace(parted: str) -> None:
    """REPLACE WHERE replaces what is in its partitions when it commits, and nothing else."""
    job = Write(parted, [{"p": 1, "k": 7, "v": 70}], "overwrite", ONE).run()
    elsewhere(jobs.written, parted, [{"p": 1, "k": 3, "v": 30}, {"p": 2, "k": 4, "v": 40}])
    job.commit()
    assert rows(parted) == {2: 20, 4: 40, 7: 70}


def test_replace_during_append(parted: str) -> None:
    """The inserted rows are there, folded before the others, which were planned later."""
    job = Write(parted, [{"p": 1, "k": 7, "v": 1}, {"p": 1, "k": 8, "v": 80}]).run()
    elsewhere(jobs.written, parted, [{"p": 1, "k": 7, "v": 70}], "overwrite", ONE)
    job.commit()
    assert rows(parted) == {2: 20, 7: 70, 8: 80}


def test_replace_during_replace(parted: str) -> None:
    """Of one partition the last one is there, of two both."""
    two = [harness.where("=", "p", 2)]
    job = Write(parted, [{"p": 1, "k": 7, "v": 70}], "overwrite", ONE).run()
    elsewhere(jobs.written, parted, [{"p": 1, "k": 6, "v": 60}], "overwrite", ONE)
    elsewhere(jobs.written, parted, [{"p": 2, "k": 5, "v": 50}], "overwrite", two)
    job.commit()
    assert rows(parted) == {5: 50, 7: 70}


def test_append_during_rescale(folder: str) -> None:
    """The rescale gives up and has changed nothing: the table keeps its buckets and the rows."""
    job = Rescale(folder, 3).run()
    elsewhere(jobs.written, folder, NEW)
    with pytest.raises(ConflictError, match="of 1 buckets meanwhile; nothing has changed"):
        job.commit()
    assert rows(folder) == {1: 10, 2: 200, 3: 300}
    assert jobs.table_of(folder).options.bucket == 1


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_rescale_during_append(folder: str, mode: str) -> None:
    """Rows that were put into other buckets than there are now don't come in, nor where the job
    replaces all the others.
    """
    job = Write(folder, NEW, mode).run()
    elsewhere(jobs.rescaled, folder, 3)
    with pytest.raises(ConflictError, match="it has 3 buckets by now, the job wrote 1"):
        job.commit()
    assert rows(folder) == {1: 10, 2: 20}
    jobs.written(folder, NEW)
    assert rows(folder) == {1: 10, 2: 200, 3: 300}


def test_a_job_alone_in_its_partition_notices_a_rescale(parted: str) -> None:
    """The same where no other file is beside the job's."""
    job = Write(parted, [{"p": 9, "k": 9, "v": 90}]).run()
    elsewhere(jobs.rescaled, parted, 3)
    with pytest.raises(ConflictError, match="it has 3 buckets by now"):
        job.commit()
    assert rows(parted) == {1: 10, 2: 20}


def test_rescale_during_compaction(folder: str) -> None:
    """The compaction's step is given up."""
    job = Compact(folder).run()
    elsewhere(jobs.rescaled, folder, 3)
    assert job.commit() == ["conflict"]
    assert rows(folder) == {1: 10, 2: 20}


def test_compaction_during_rescale(folder: str) -> None:
    """The rescale gives up: what it read is gone."""
    job = Rescale(folder, 3).run()
    assert elsewhere(jobs.compacted, folder) == ["committed"]
    with pytest.raises(ConflictError, match="another job replaced a data file"):
        job.commit()
    assert rows(folder) == {1: 10, 2: 20}


def test_drop_partition_during_rescale(parted: str) -> None:
    """The same."""
    job = Rescale(parted, 3).run()
    assert elsewhere(jobs.partition_dropped, parted, 1)
    with pytest.raises(ConflictError, match="another job replaced a data file"):
        job.commit()
    assert rows(parted) == {2: 20}


def test_rescale_during_rescale(folder: str) -> None:
    """The one that commits last gives up."""
    job = Rescale(folder, 3).run()
    elsewhere(jobs.rescaled, folder, 4)
    with pytest.raises(ConflictError, match="another job replaced a data file"):
        job.commit()
    assert jobs.table_of(folder).options.bucket == 4


def test_alter_during_rescale(folder: str) -> None:
    """Both are there."""
    job = Rescale(folder, 3).run()
    elsewhere(jobs.altered, folder, [ADDED])
    job.commit()
    table = jobs.table_of(folder)
    assert (table.options.bucket, len(table.layout.columns)) == (3, 3)
    assert rows(folder) == {1: 10, 2: 20}


def test_rescale_during_read(folder: str) -> None:
    """A query reads the files it was planned on."""
    planned = jobs.table_of(folder)
    split = jobs.splits_of(planned)
    elsewhere(jobs.rescaled, folder, 3)
    assert len(jobs.read_all(*split)) == 2
    assert jobs.rows_of(planned) == {1: 10, 2: 20}


def test_drop_during_append(folder: str) -> None:
    """The job fails, and does not bring the table back."""
    job = Write(folder, NEW).run()
    assert elsewhere(jobs.dropped, folder)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert not Path(job.table.layout.location).exists()


def test_drop_and_create_during_append(folder: str) -> None:
    """The job fails, and the table that took the name is not touched."""
    job = Write(folder, NEW).run()
    elsewhere(jobs.replaced, folder)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert rows(folder) == {}


def test_drop_during_compaction(folder: str) -> None:
    """The compaction's step gives up."""
    job = Compact(folder).run()
    elsewhere(jobs.replaced, folder)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert rows(folder) == {}


def test_alter_during_append(folder: str) -> None:
    """The job ends as it began; its rows have NULL in a new column."""
    job = Write(folder, NEW).run()
    assert elsewhere(jobs.altered, folder, [ADDED]) == 1
    job.commit()
    assert rows(folder) == {1: 10, 2: 200, 3: 300}


def test_alter_during_compaction(folder: str) -> None:
    """The compaction ends as it began."""
    job = Compact(folder).run()
    elsewhere(jobs.altered, folder, [ADDED])
    assert job.commit() == ["committed"]
    assert rows(folder) == {1: 10, 2: 20}


def test_expiry_during_append(folder: str) -> None:
    """A job whose snapshot expired commits all the same, after what was written meanwhile."""
    job = Write(folder, [{"k": 1, "v": 11}]).run()
    elsewhere(jobs.written, folder, NEW)
    assert elsewhere(jobs.expired, folder, 1) == 2
    job.commit()
    assert rows(folder) == {1: 11, 2: 200, 3: 300}


def test_expiry_during_compaction(folder: str) -> None:
    """Files that the newest snapshot holds stay: the compaction commits."""
    job = Compact(folder)
    elsewhere(jobs.written, folder, NEW)
    assert elsewhere(jobs.expired, folder, 1) == 2
    assert job.run().commit() == ["committed"]
    assert rows(folder) == {1: 10, 2: 200, 3: 300}


def test_expiry_during_read(folder: str) -> None:
    """A query whose snapshot expired, and whose files were replaced, is told so."""
    planned = jobs.table_of(folder)
    elsewhere(jobs.compacted, folder)
    assert jobs.rows_of(planned) == {1: 10, 2: 20}
    split = jobs.splits_of(planned)
    assert elsewhere(jobs.expired, folder, 1) == 2
    expired = r"file .*parquet is gone: snapshot 2 .* has expired.*time-retained"
    with pytest.raises(SnapshotExpiredError, match=expired):
        jobs.read_all(*split)
    with pytest.raises(SnapshotExpiredError, match=r"snapshot 2 .* has expired"):
        jobs.rows_of(planned)
    assert rows(folder) == {1: 10, 2: 20}


def test_orphan_removal_during_append(folder: str) -> None:
    """Files that a job has written and not committed are too young to go."""
    job = Write(folder, NEW).run()
    assert elsewhere(jobs.orphans_removed, folder) == []
    job.commit()
    assert rows(folder) == {1: 10, 2: 200, 3: 300}
