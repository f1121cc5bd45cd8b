package keyfold.spark

/** Both sides: a value that shows as its name alone, as the plan in it says how to log in to an object store. */
trait Unshown {
  override def toString: String = getClass.getSimpleName
}
