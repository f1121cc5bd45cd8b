package keyfold.integration

import java.util.Collections

import scala.jdk.CollectionConverters._

import org.apache.paimon.data.InternalRow
import org.apache.paimon.disk.IOManager
import org.apache.paimon.io.{CompactIncrement, DataFileMeta, DataIncrement}
import org.apache.paimon.postpone.BucketFiles
import org.apache.paimon.table.{BucketMode, FileStoreTable, PostponeUtils}
import org.apache.paimon.table.sink.{CommitMessage, CommitMessageImpl}
import org.apache.paimon.table.source.DataSplit

/** Rows without a bucket get theirs, as the compactions of Paimon's engines give them: one job after
  * another, the files of each partition in the order in which they were made.
  */
object PaimonPostponed {
  def compact(table: FileStoreTable, scratch: IOManager): Unit = {
    val found = table.newSnapshotReader.withBucket(BucketMode.POSTPONE_BUCKET).read.dataSplits
    val messages = found.asScala.toSeq.groupBy(_.partition).toSeq.flatMap { case (_, splits) =>
      moved(table, scratch, splits) ++ splits.map(removed)
    }
    if (messages.nonEmpty) {
      val commit = withBuckets(table, 1).newCommit("postponed")
      try commit.commit(1L, merged(table, messages).asJava)
      finally commit.close()
    }
  }

  private def withBuckets(table: FileStoreTable, number: Int): FileStoreTable =
    table.copy(Collections.singletonMap("bucket", number.toString))

  private def moved(
      table: FileStoreTable,
      scratch: IOManager,
      splits: Seq[DataSplit]
  ): Seq[CommitMessage] = {
    val first = Integer.valueOf(table.coreOptions.postponeDefaultBucketNum)
    val known = PostponeUtils.getKnownNumBuckets(table)
    val number = known.getOrDefault(splits.head.partition, first)
    val writer = withBuckets(table, number).newBatchWriteBuilder.newWrite.withIOManager(scratch)
    try {
      val files = splits.flatMap(split => split.dataFiles.asScala.map((split, _)))
      files.sortBy(_._2.creationTimeEpochMillis).foreach { case (split, file) =>
        val one = DataSplit.builder
          .withPartition(split.partition)
          .withBucket(split.bucket)
          .withBucketPath(split.bucketPath)
          .withTotalBuckets(split.totalBuckets)
          .withDataFiles(Collections.singletonList(file))
          .isStreaming(false)
          .build
        val reader = table.newReadBuilder.newRead.withIOManager(scratch).createReader(one)
        try reader.forEachRemaining((row: InternalRow) => writer.write(row))
        finally reader.close()
      }
      writer.prepareCommit.asScala.toSeq
    } finally writer.close()
  }

  private def removed(split: DataSplit): CommitMessage = {
    val none = Collections.emptyList[DataFileMeta]
    val compacted = new CompactIncrement(split.dataFiles, none, none)
    val nothing = DataIncrement.emptyIncrement
    new CommitMessageImpl(split.partition, split.bucket, split.totalBuckets, nothing, compacted)
  }

  /** One message for each bucket, all of them of a compaction. */
  private def merged(table: FileStoreTable, messages: Seq[CommitMessage]): Seq[CommitMessage] = {
    val found = messages.map(_.asInstanceOf[CommitMessageImpl])
    found.groupBy(one => (one.partition, one.bucket)).toSeq.map { case ((partition, bucket), of) =>
      val paths = table.store.pathFactory.createDataFilePathFactory(partition, bucket)
      val files = new BucketFiles(paths, table.fileIO)
      of.foreach(files.update)
      files.makeMessage(partition, bucket)
    }
  }
}
