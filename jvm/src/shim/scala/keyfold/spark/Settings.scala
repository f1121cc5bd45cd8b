package keyfold.spark

import org.apache.spark.{SparkConf, SparkEnv, TaskContext}
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.SparkSession

/** Both sides: the value of a `spark.*` setting where this code runs. */
object Settings {
  private val HadoopStore = """spark\.hadoop\.(?:fs\.s3a|fs\.gs|fs\.azure|google\.cloud\.auth)\..+"""
  private val Own = "spark.keyfold."
  private val Registered = "spark.keyfold.registered."
  private val LeafParallelism = "spark.sql.leafNodeDefaultParallelism"
  private val WorkerMemory = "spark.keyfold.worker.memory"
  /** Whether tables are read bucket by bucket, where that can be done. */
  val ReadByBucket = "spark.keyfold.read-by-bucket"
  /** Whether statements that change rows look keys up; if not, Spark's own plan joins with the whole table. */
  private val MergeLookup = "spark.keyfold.merge.lookup"
  /** How long the start of Python is waited for. */
  val StartTimeout = "spark.keyfold.start.timeout"
  private val OfWrites = Seq("spark.keyfold.txnAppId", "spark.keyfold.txnVersion")

  /** The session's value if there is one (Spark carries it into tasks), else the application's. */
  def get(name: String): Option[String] = {
    val inTask = Option(TaskContext.get()).map(task => Option(task.getLocalProperty(name)))
    inTask.getOrElse(ofSession(name)).orElse(Option(SparkEnv.get).flatMap(_.conf.getOption(name)))
  }

  /** Driver side: how many tasks run at once: what is set for Spark's own scans, else the cores that Spark has
    * now, or may have where it allocates executors as they are needed and has few of them yet.
    */
  def cores: Int = get(LeafParallelism).map(_.toInt).orElse(
    session.map(_.sparkContext).map(context => Math.max(context.defaultParallelism, mostCores(context.getConf)))
  ).getOrElse(1)

  /** The most cores of executors that are allocated dynamically; 0 where their number has no limit. */
  def mostCores(conf: SparkConf): Int =
    if (!conf.getBoolean("spark.dynamicAllocation.enabled", false)) 0
    else conf.getInt("spark.dynamicAllocation.maxExecutors", 0) * conf.getInt("spark.executor.cores", 1) /
      conf.getInt("spark.task.cpus", 1)

  def looksUpKeys: Boolean = !get(MergeLookup).exists(_.trim.equalsIgnoreCase("false"))

  def isDriver: Boolean = Option(SparkEnv.get).forall(_.executorId == "driver")

  /** The most bytes a worker may take, if `spark.keyfold.worker.memory` says; else Python does. */
  def workerMemory: Option[Long] = get(WorkerMemory).map { value =>
    try JavaUtils.byteStringAsBytes(value)
    catch {
      case failure: NumberFormatException => throw new KeyfoldException("KeyfoldError",
        s"$WorkerMemory is '$value'; expected a number of bytes with a unit, as 512m or 2g", failure)
    }
  }

  /** The seconds that Python may take to start: 10 minutes if `spark.keyfold.start.timeout` does not say. */
  def startSeconds: Long = get(StartTimeout).fold(600L) { value =>
    try JavaUtils.timeStringAsSec(value)
    catch {
      case failure: NumberFormatException => throw new KeyfoldException("KeyfoldError",
        s"$StartTimeout is '$value'; expected a time with a unit, as 90s or 10m", failure)
    }
  }

  /** The users' own functions of this session: the modules that hold them, and those that `keyfold.register` put into
    * its settings; the options that it sets for all its writes; and the names of our settings, which Python checks.
    */
  def functions: Map[String, Any] = {
    val (registered, own) = session.toSeq.flatMap(_.conf.getAll).filter(_._1.startsWith(Own))
      .partition(_._1.startsWith(Registered))
    val ofWrites = OfWrites.flatMap(name => get(name).map(name.stripPrefix(Own) -> _)).toMap
    Map("modules" -> get("spark.keyfold.modules"), "writes" -> ofWrites, "settings" -> own.map(_._1),
      "registered" -> registered.map { case (name, code) => name.stripPrefix(Registered) -> code }.toMap)
  }

  /** Driver side: the settings of Hadoop's object stores, which count where a catalog's own options are silent. */
  def objectStore: Map[String, String] = session.toSeq.flatMap(_.conf.getAll)
    .filter(_._1.matches(HadoopStore)).toMap

  private def session: Option[SparkSession] = SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession)

  private def ofSession(name: String): Option[String] = session.flatMap(_.conf.getOption(name))
}
