package keyfold.spark.processes

import java.nio.file.{Files, Path}

import keyfold.spark.{KeyfoldException, Settings}
import org.apache.spark.{SparkEnv, SparkFiles}

/** Both sides: the Python this JVM runs, and the name of the setting that chose it. */
final case class Interpreter(command: String, chosenBy: String) {
  override def toString: String = s"$command (chosen by $chosenBy)"
}

object Interpreter {
  /** The interpreter of the Python program that started this session; set by `keyfold.configure`. */
  private val OfSession = "spark.keyfold.session.python"

  /** First what names keyfold, then what names PySpark, then the session's own Python, then python3. */
  def current(): Interpreter = {
    val forDriver = if (Settings.isDriver) Seq("spark.keyfold.driver.python") else Nil
    (forDriver :+ "spark.keyfold.python").flatMap(setting).headOption.map(foundOrRefused)
      .orElse(pyspark.flatMap(found))
      .orElse(setting(OfSession))
      .orElse(pyspark.map(foundOrRefused))
      .getOrElse(Interpreter("python3", "no setting: python3 of the PATH"))
  }

  /** A relative one is the executors': with YARN's client mode the driver's machine has no such file. */
  private def pyspark: Option[Interpreter] =
    setting("spark.pyspark.python").orElse(sys.env.get("PYSPARK_PYTHON").map(Interpreter(_, "PYSPARK_PYTHON")))

  private def setting(name: String): Option[Interpreter] =
    Settings.get(name).filter(_.nonEmpty).map(Interpreter(_, name))

  /** The interpreter by its path on this machine. A name without a slash is looked up in the PATH when it starts. */
  private def found(named: Interpreter): Option[Interpreter] =
    if (Path.of(named.command).isAbsolute || !named.command.contains("/")) Some(named)
    else places.map(_.resolve(named.command).normalize).find(Files.isRegularFile(_))
      .map(path => named.copy(command = path.toString))

  /** The folders in which a relative path is looked up: the one into which Spark unpacks `--archives` on this
    * machine (on YARN the working directory), then the working directory.
    */
  private def places: Seq[Path] = {
    val unpacked = Option(SparkEnv.get).map(_ => SparkFiles.getRootDirectory())
    (unpacked.toSeq :+ "").map(Path.of(_).toAbsolutePath.normalize).distinct
  }

  private def foundOrRefused(named: Interpreter): Interpreter = found(named).getOrElse {
    val side = if (Settings.isDriver) "driver" else "executor"
    throw new KeyfoldException("EnvironmentMismatchError", s"${named.chosenBy} names the relative path "
      + s"${named.command}, which this $side looked for in ${places.mkString(" and in ")}. Ship an archive that "
      + s"holds it (--archives FILE#${Path.of(named.command).getName(0)}), or name a Python that is installed "
      + "there; the driver has a setting of its own, spark.keyfold.driver.python.")
  }
}
