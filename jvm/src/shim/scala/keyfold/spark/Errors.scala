package keyfold.spark

import java.io.RandomAccessFile
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

/** Both sides: a failure in words, and the end of what a Python process wrote to its standard error. */
object Errors {
  /** A failure for a line of a log or a row of a result: without traceback. */
  def sentence(failure: Throwable): String = failure match {
    case ours: KeyfoldException => ours.sentence
    case _ => Option(failure.getMessage).getOrElse(failure.toString)
  }

  private val TailBytes = 4000
  private val FateWaitMillis = 1000L
  private val Signalled = 128 // what Java adds to the number of a signal

  /** The last whole lines of the file; "" without a file. */
  def tail(file: Path): String = if (!Files.exists(file)) "" else {
    val opened = new RandomAccessFile(file.toFile, "r")
    try {
      val start = math.max(0L, opened.length - TailBytes)
      opened.seek(start)
      val bytes = new Array[Byte]((opened.length - start).toInt)
      opened.readFully(bytes)
      val text = new String(bytes, UTF_8)
      (if (start == 0) text else text.drop(text.indexOf('\n') + 1)).strip
    } finally opened.close()
  }

  /** The last lines of a worker that died: the fork server adds how it ended within a moment. */
  def ofWorker(file: Path): String = {
    val giveUp = System.nanoTime + FateWaitMillis * 1000000
    while (!hasFate(file) && System.nanoTime < giveUp) Thread.sleep(20)
    val text = tail(file)
    val unseen = if (hasFate(file)) "" else " (how is not known: its fork server ended, too)"
    if (text.isEmpty) s"$unseen; it wrote no error" else s"$unseen; the end of its standard error:\n$text"
  }

  /** How a fork server ended, and what it wrote last. */
  def ofServer(process: Process, file: Path): String = {
    val text = tail(file)
    exit(process) + (if (text.isEmpty) "; it wrote no error" else s"; the end of its standard error:\n$text")
  }

  /** How a process ended, if it does within a moment. */
  def exit(process: Process): String =
    if (!process.waitFor(FateWaitMillis, TimeUnit.MILLISECONDS)) "it runs, but does not answer"
    else if (process.exitValue > Signalled) s"it was killed by signal ${process.exitValue - Signalled}"
    else s"it ended with exit code ${process.exitValue}"

  private def hasFate(file: Path): Boolean =
    tail(file).linesIterator.toSeq.lastOption.exists(_.matches("worker \\d+ ended: .*"))
}
