package keyfold.spark.jobs

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Errors, Json}
import keyfold.spark.processes.Talk
import keyfold.spark.questions.CatalogQuestions
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.keyfold.reads.Analysis
import org.slf4j.LoggerFactory

/** Driver side: a question that is Python's work, and what only Spark can do: tasks, lines in the log, figures. */
final class PythonJob(table: Option[KeyfoldTable], talk: Talk) {
  import PythonJob._

  private var tasks: Option[TaskJob] = None
  private var ended: Option[Throwable] = None

  /** Python's answer. */
  def answer(): JsonNode = {
    run(work => work())
    talk.end
  }

  /** Does what Python asks for; `elsewhere` what follows its wish to go on apart. */
  def run(elsewhere: (() => Unit) => Unit): Unit = {
    def isApart = talk.request.exists(what(_) == "apart")
    closing(!isApart)(while (!isApart && talk.request.isDefined) reply())
    if (isApart) elsewhere(() => closing(isOver = true) {
      talk.reply()
      while (talk.request.isDefined) reply()
    })
  }

  private def reply(): Unit = talk.request.foreach(request => talk.reply(done(request): _*))

  /** Throws what ended the Spark job, not what Python says of it. */
  private def closing(isOver: => Boolean)(work: => Unit): Unit = {
    var isLeft = true
    try {
      work
      isLeft = isOver
    } catch { case NonFatal(failure) => throw ended.getOrElse(failure) }
    finally if (isLeft) {
      tasks.foreach(_.cancel())
      talk.close()
    }
  }

  private def what(request: JsonNode): String = request.get("request").asText

  private def done(request: JsonNode): Seq[(String, Any)] = what(request) match {
    case "note" =>
      val line = request.get("line").asText
      if (request.get("is_bad").asBoolean) log.warn(line) else log.info(line)
      Nil
    case "analyze" =>
      val (rows, columns) = Analysis.of(table.get, Json.strings(request.get("columns")))
      Seq("rows" -> rows, "columns" -> columns)
    case "tasks" =>
      tasks = Some(new TaskJob(SparkSession.active.sparkContext, request.get("title").asText, request.get("asked"),
        Json.strings(request.get("tasks"))))
      Nil
    case "next" => tasks.toSeq.flatMap(next)
  }

  private def next(job: TaskJob): Seq[(String, Any)] =
    try {
      val (place, answer) = job.next()
      Seq("place" -> place, "ok" -> answer.ok.map(Json.parse), "failure" -> answer.failure)
    } catch { case failure @ (_: InterruptedException | NonFatal(_)) =>
      ended = Some(failure)
      job.cancel()
      Seq("ended" -> Errors.sentence(failure))
    }
}

object PythonJob {
  private val log = LoggerFactory.getLogger(classOf[PythonJob])

  /** `again`: Python changes nothing before it asks for something. */
  def begin[T](questions: CatalogQuestions, table: Option[KeyfoldTable], question: String, again: Boolean,
      fields: (String, Any)*)(hold: PythonJob => T): T = {
    val own = table.map("table" -> _.description.handle).toSeq :+
      "parallelism" -> SparkSession.active.sparkContext.defaultParallelism
    questions.talk(question, again, own ++ fields: _*)(talk => hold(new PythonJob(table, talk)))
  }
}
