package keyfold.spark.jobs

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.Json
import keyfold.spark.processes.Talk
import keyfold.spark.table.KeyfoldTable
import org.apache.spark.sql.keyfold.reads.Analysis
import org.slf4j.LoggerFactory

/** Driver side: a question about a table whose answer is Python's work. Python asks back for what only Spark can
  * do, and this does it.
  */
final class PythonJob(table: KeyfoldTable, talk: Talk) {
  import PythonJob._

  def run(): JsonNode =
    try {
      while (talk.request.isDefined) talk.request.foreach(request => talk.reply(done(request): _*))
      talk.end
    } finally talk.close()

  private def done(request: JsonNode): Seq[(String, Any)] = request.get("request").asText match {
    case "note" =>
      val line = request.get("line").asText
      if (request.get("is_bad").asBoolean) log.warn(line) else log.info(line)
      Nil
    case "analyze" =>
      val named = Option(request.get("columns")).filterNot(_.isNull).map(Json.strings)
      val (rows, columns) = Analysis.of(table, named)
      Seq("rows" -> rows, "columns" -> columns)
  }
}

object PythonJob {
  private val log = LoggerFactory.getLogger(classOf[PythonJob])

  /** `again`: Python changes nothing before it asks for something. */
  def run(table: KeyfoldTable, question: String, again: Boolean, fields: (String, Any)*): JsonNode =
    table.questions.talk(question, again, ("table" -> table.description.handle) +: fields: _*)(
      new PythonJob(table, _).run())
}
