package keyfold.spark.processes

import java.io.IOException
import java.nio.file.{Files, Path}
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.attribute.PosixFilePermissions

import keyfold.spark.KeyfoldException

/** Both sides: a new folder that only this user can open, in one where no other user can put another in its
  * place: who answers at a socket in it is believed.
  */
object PrivateFolder {
  private val LongestPath = 80 // with room for a socket's name
  private val WritableByOthers = Integer.parseInt("022", 8)
  private val Sticky = Integer.parseInt("1000", 8)
  private val Owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))

  def create(name: String): Path = {
    val parents = Seq(sys.props("java.io.tmpdir"), "/tmp", "/var/tmp", "/dev/shm").distinct
    val tried = LazyList.from(parents).map(parent => tryIn(Path.of(parent), name))
    tried.collectFirst { case Right(made) => made }.getOrElse {
      val refusals = tried.flatMap(_.left.toOption).mkString("; ")
      throw new KeyfoldException("EnvironmentMismatchError", "keyfold needs a folder for the socket of its "
        + s"Python processes that no other user can replace: $refusals. Take the right to write from others, "
        + "or set the sticky bit (chmod +t), or name another folder with -Djava.io.tmpdir "
        + "(spark.driver.extraJavaOptions, spark.executor.extraJavaOptions).")
    }
  }

  /** The folder, or why it can't be there. */
  private def tryIn(parent: Path, name: String): Either[String, Path] =
    try {
      val made = Files.createDirectory(parent.toRealPath().resolve(name), Owner)
      val user = attribute(made, "uid")
      val refusal =
        if (made.toString.length < LongestPath) above(made).flatMap(changeable(_, user)).headOption
        else Some(s"the path of $parent is too long")
      if (refusal.nonEmpty) Files.delete(made)
      refusal.toLeft(made)
    } catch { case failure: IOException => Left(s"$parent: $failure") }

  private def above(path: Path): Seq[Path] =
    Iterator.iterate(path.getParent)(_.getParent).takeWhile(_ != null).toSeq.reverse

  /** Why other users might rename what is in a folder, None if they can't. */
  private def changeable(folder: Path, user: Int): Option[String] = {
    val (owner, mode) = (attribute(folder, "uid"), attribute(folder, "mode"))
    if (owner != 0 && owner != user) Some(s"$folder belongs to another user (uid $owner)")
    else if ((mode & WritableByOthers) != 0 && (mode & Sticky) == 0) Some(s"other users may write $folder")
    else None
  }

  private def attribute(path: Path, name: String): Int =
    Files.getAttribute(path, s"unix:$name", NOFOLLOW_LINKS).asInstanceOf[Int]
}
