package keyfold.spark

/** Both sides: kinds of failures, which are Python's classes, as Spark's conditions and SQLSTATEs. */
object Kinds {
  val Table = "TableError"
  val Died = "WorkerDied"
  private val System = "58000"

  private val SqlStates = Map(
    "ConflictError" -> "40001",
    "CorruptDataError" -> "XX001",
    "FoldOverflowError" -> "22003",
    "FunctionError" -> "39000",
    "NamespaceExistsError" -> "42P06",
    "NamespaceNotEmptyError" -> "2BP01",
    "NoSuchNamespaceError" -> "42704",
    "NoSuchTableError" -> "42P01",
    "NotSupportedError" -> "0A000",
    "SnapshotExpiredError" -> "55000",
    Table -> "42000",
    "TableExistsError" -> "42P07",
    "UnknownOutcomeError" -> "08007")

  def sqlState(kind: String): String = SqlStates.getOrElse(kind, System)

  /** `KEYFOLD_CONFLICT` of ConflictError. */
  def condition(kind: String): String = {
    val words = kind.stripPrefix("Keyfold").stripSuffix("Error").split("(?=[A-Z])").filter(_.nonEmpty)
    ("KEYFOLD" +: (if (words.isEmpty) Array("ERROR") else words)).map(_.toUpperCase).mkString("_")
  }
}
