package keyfold.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

/** Both sides: the end of what a Python process wrote to its standard error. */
object Errors {
  private val TailLength = 4000
  private val FateWaitMillis = 1000L

  def tail(file: Path): String = {
    val text = if (Files.exists(file)) new String(Files.readAllBytes(file), UTF_8) else ""
    text.takeRight(TailLength).strip
  }

  /** The same for a worker that died: the fork server adds how it ended within a moment. */
  def ofWorker(file: Path): String = {
    val giveUp = System.nanoTime + FateWaitMillis * 1000000
    while (!hasFate(file) && System.nanoTime < giveUp) Thread.sleep(20)
    val text = tail(file)
    if (text.isEmpty) "; it wrote no error" else s"; the end of its standard error:\n$text"
  }

  private def hasFate(file: Path): Boolean =
    tail(file).linesIterator.toSeq.lastOption.exists(_.matches("worker \\d+ ended: .*"))
}
