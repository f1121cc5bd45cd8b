package keyfold.spark.processes

import java.io.{BufferedReader, File, IOException, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.security.SecureRandom
import java.time.ZoneId
import java.util.{HexFormat, Properties}
import java.util.concurrent.{CompletableFuture, TimeUnit, TimeoutException}

import com.fasterxml.jackson.databind.JsonNode
import keyfold.spark.{Errors, Json, KeyfoldException, Settings}
import org.apache.spark.{SparkEnv, SparkFiles}
import org.apache.spark.sql.keyfold.LocalFolder
import org.slf4j.LoggerFactory

/** Both sides: starts a fork server and checks that it is the one this jar was made for. */
object Launch {
  private val Protocol = 2
  private val NoticeSeconds = 10L
  /** Python's one line, perhaps behind the end of another. */
  private val Answer = """\{"(?:ready|error)".*""".r
  private val MostErrors = 4000
  private val log = LoggerFactory.getLogger(classOf[ForkServer])

  val version: String = {
    val properties = new Properties()
    val resource = getClass.getResourceAsStream("/keyfold/version.properties")
    if (resource != null) try properties.load(resource) finally resource.close()
    properties.getProperty("version", "unknown")
  }

  def start(python: Interpreter): ForkServer = {
    val token = random(16)
    val seconds = Settings.startSeconds
    val process = spawn(python)
    try {
      val hello = Json.obj("protocol" -> Protocol, "version" -> version, "token" -> token,
        "temporary" -> sys.props("java.io.tmpdir"), "driver" -> Settings.isDriver, "files" -> shippedFiles)
      val before = new StringBuffer
      val ready = readyLine(process, Json.text(hello), seconds, before)
      val answer = ready.getOrElse(throw notStarted(python, before, process, seconds))
      if (answer.has("error")) throw KeyfoldException.fromAnswer(answer.get("error"))
      check(answer, python)
      new ForkServer(process, Path.of(answer.path("directory").asText), token)
    } catch {
      case failure: Throwable =>
        process.destroyForcibly(): Unit
        throw failure
    }
  }

  /** The folder into which Spark puts the files of `--py-files` and `addPyFile`, on this machine. */
  private def shippedFiles: Option[String] =
    Option(SparkEnv.get).map(_ => new File(SparkFiles.getRootDirectory()).getAbsolutePath)

  /** Neither a `types.py` in the working directory nor a full /tmp is Python's business here: it looks for
    * modules where packages are installed only, and spills into the folder that Spark itself spills into.
    */
  private def spawn(python: Interpreter): Process = {
    val builder = new ProcessBuilder(python.command, "-m", "keyfold.bridge").redirectErrorStream(true)
    builder.environment.put("PYTHONSAFEPATH", "1"): Unit
    // Huge pages for malloc: see bridge/memory.py. A user's own settings of glibc stay.
    builder.environment.putIfAbsent("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"): Unit
    // Paimon's library converts values by them: numbers to text, dates and times to instants.
    builder.environment.put("KEYFOLD_JAVA_VERSION", Runtime.version.feature.toString): Unit
    builder.environment.put("KEYFOLD_JAVA_ZONE", ZoneId.systemDefault.getId): Unit
    LocalFolder.current.foreach(builder.environment.put("SPARK_LOCAL_DIRS", _))
    try builder.start()
    catch {
      case failure: IOException => throw new KeyfoldException("EnvironmentMismatchError", "keyfold cannot run Python: "
          + s"$python does not start. Set spark.keyfold.python (on the driver spark.keyfold.driver.python) to a "
          + s"Python that has keyfold $version installed.", failure)
    }
  }

  /** The one line the server prints when it is warm; None if it ended, or took too long. Errors are what it says
    * `before`: from then on they go to its own folder.
    */
  private def readyLine(process: Process, hello: String, seconds: Long, before: StringBuffer): Option[JsonNode] = {
    val line = new CompletableFuture[String]()
    Threads.begin("keyfold-ready") {
      val text = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
      def next(): String = Option(text.readLine()).map(said => Answer.findFirstIn(said).getOrElse {
        before.append(said).append('\n')
        ""
      }).orNull
      try line.complete(Iterator.continually(next()).find(said => said == null || said.nonEmpty).get): Unit
      catch { case _: IOException => line.complete(null): Unit }
    }
    try {
      process.getOutputStream.write((hello + "\n").getBytes(UTF_8))
      process.getOutputStream.flush()
      Option(waited(line, seconds)).map(Json.parse)
    } catch { case _: IOException | _: TimeoutException => None }
  }

  /** The line, or a TimeoutException; the log says now and then what is waited for. */
  private def waited(line: CompletableFuture[String], seconds: Long): String = {
    var spent = 0L
    while (spent + NoticeSeconds < seconds)
      try return line.get(NoticeSeconds, TimeUnit.SECONDS)
      catch {
        case _: TimeoutException =>
          spent += NoticeSeconds
          log.warn(s"keyfold's Python has been starting for $spent s: the first start on a machine compiles kernels, " +
            "which takes a minute or two (python -m keyfold warmup does it beforehand)")
      }
    line.get(seconds - spent, TimeUnit.SECONDS)
  }

  /** Python has compared versions too; this is for a program that is not keyfold, or a keyfold that did not. */
  private def check(answer: JsonNode, python: Interpreter): Unit = {
    val theirs = answer.path("version").asText("unknown")
    if (theirs != version || answer.path("protocol").asInt != Protocol)
      throw new KeyfoldException("EnvironmentMismatchError", s"the jar is keyfold $version (protocol $Protocol), "
        + s"Python $python says it is keyfold $theirs (protocol ${answer.path("protocol")}); install keyfold "
        + s"$version there, or set spark.keyfold.python to a Python that has it")
  }

  private def notStarted(
      python: Interpreter, before: StringBuffer, process: Process, seconds: Long): KeyfoldException = {
    val ended = process.waitFor(1, TimeUnit.SECONDS)
    val errors = before.toString.takeRight(MostErrors).strip
    val message =
      if (!ended) s"Python $python took more than $seconds s to start keyfold.bridge. The first start on a " +
        "machine compiles kernels: run python -m keyfold warmup there first, start again (what is compiled " +
        s"is kept), or raise ${Settings.StartTimeout}"
      else if (errors.contains("No module named 'keyfold") || errors.contains("No module named keyfold"))
        s"Python $python has no package keyfold. Install keyfold==$version there, or set " +
          "spark.keyfold.python (on the driver spark.keyfold.driver.python) to a Python that has it."
      else s"Python $python cannot run keyfold.bridge: " +
        errors.linesIterator.toSeq.lastOption.getOrElse(s"${Errors.exit(process)}; it wrote no error")
    new KeyfoldException("EnvironmentMismatchError", s"$message\n$errors".stripTrailing)
  }

  private def random(bytes: Int): String = {
    val made = new Array[Byte](bytes)
    new SecureRandom().nextBytes(made)
    HexFormat.of().formatHex(made)
  }
}
