package keyfold.spark

/** Both sides: the Python this JVM runs, and the name of the setting that chose it. */
final case class Interpreter(command: String, chosenBy: String) {
  override def toString: String = s"$command (chosen by $chosenBy)"
}

object Interpreter {
  /** The interpreter of the Python program that started this session; set by `keyfold.configure`. */
  private val OfSession = "spark.keyfold.session.python"

  /** First what names keyfold, then what names PySpark, then the session's own Python, then python3. */
  def current(): Interpreter = {
    val ours = if (Settings.isDriver) Seq("spark.keyfold.driver.python") else Nil
    val names = ours ++ Seq("spark.keyfold.python", "spark.pyspark.python")
    val environment = sys.env.get("PYSPARK_PYTHON").map(Interpreter(_, "PYSPARK_PYTHON"))
    first(names)
      .orElse(environment)
      .orElse(first(Seq(OfSession)))
      .getOrElse(Interpreter("python3", "no setting: python3 of the PATH"))
  }

  private def first(names: Seq[String]): Option[Interpreter] =
    names.flatMap(name => Settings.get(name).filter(_.nonEmpty).map(Interpreter(_, name))).headOption
}
