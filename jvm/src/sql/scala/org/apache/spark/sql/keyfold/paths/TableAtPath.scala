package org.apache.spark.sql.keyfold.paths

import java.util.{Collections, Set => JavaSet}

import keyfold.spark.{KeyfoldCatalog, KeyfoldSource}
import keyfold.spark.catalog.TablePath
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Column, Identifier, SupportsRead, SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.catalog.TableCapability._
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.keyfold.{KeyfoldNodes, Refusal, SqlTypes}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Driver side: a table of `format("keyfold")` before it is looked up, known by its path: to be saved, it may not be
  * there. The session extension puts the table of the catalog in its place, which is loaded once more for each
  * query; without the extension it reads the table as it was at `load`.
  */
final case class TableAtPath(asked: StructType, options: CaseInsensitiveStringMap)
    extends Table with SupportsRead with SupportsWrite {
  lazy val place: TableAtPath.Place = TableAtPath.place(options)

  lazy val table: Table with SupportsRead = {
    val found = place.load(TimeTravel.of(options))
    checked(found, SqlTypes.ofRows(found.columns()))
  }

  /** A table; refused where `.schema(…)` of the reader says other columns than it has. */
  def checked[Found <: Table](found: Found, has: StructType): Found =
    if (SqlTypes.areAlike(has, asked)) found else throw Refusal(s"table ${found.name()} has the columns ${has.toDDL}, "
      + s"and .schema(…) says ${asked.toDDL}: leave .schema(…) out")

  override def name(): String = place.path
  override def columns(): Array[Column] = SqlTypes.columns(asked)
  override def capabilities(): JavaSet[TableCapability] =
    JavaSet.of(BATCH_READ, MICRO_BATCH_READ, V1_BATCH_WRITE, STREAMING_WRITE)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    table.newScanBuilder(TimeTravel.without(options))

  /** The table that a stream reads, or is written to: the extension puts it in this one's place. */
  def target: Table = place.load()

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = throw Refusal(
    s"streaming into the table at ${place.path} needs the session extension of keyfold: start Spark with --conf "
      + "spark.sql.extensions=keyfold.spark.KeyfoldExtensions")

  override def toString: String = name()
}

object TableAtPath {
  val Path = "path"

  private lazy val unnamed = {
    val made = new KeyfoldCatalog
    made.initialize(KeyfoldSource.Name, new CaseInsensitiveStringMap(Collections.emptyMap()))
    made
  }

  /** The catalog that opens a path: the one whose warehouse holds it, else any of ours, else one for paths alone. */
  private def catalogOf(path: String): KeyfoldCatalog = {
    val ours = KeyfoldNodes.catalogs(SparkSession.active)
    ours.find(_.holds(path)).orElse(ours.headOption).getOrElse(unnamed)
  }

  /** The place of a table: a path, the catalog that can open it, and its name there. */
  final case class Place(catalog: KeyfoldCatalog, ident: Identifier, path: String) {
    def load(asOf: Option[TimeTravel.Spec] = None): Table with SupportsRead = TimeTravel.load(catalog, ident, asOf) match {
      case found: SupportsRead => found
      case other => throw Refusal(s"${other.name()} can't be read")
    }
  }

  def place(options: CaseInsensitiveStringMap): Place = {
    if (options.containsKey("paths"))
      throw Refusal(s"format ${KeyfoldSource.Name} takes one path, found ${options.get("paths")}: load each by itself")
    val path = Option(options.get(Path)).filter(_.nonEmpty).getOrElse(throw Refusal(
      s"format ${KeyfoldSource.Name} needs the path of a table: load(path), save(path); "
        + "a table of a catalog is spark.table(name), writeTo(name)"))
    val catalog = catalogOf(path)
    Place(catalog, catalog.identifierOf(path), TablePath.absolute(path))
  }

  /** The columns that the table has, which must be there; of today where the version may be where a stream begins. */
  def stored(options: CaseInsensitiveStringMap): StructType = SqlTypes.declared(
    scala.util.Try(place(options).load(TimeTravel.of(options))).getOrElse(place(options).load()).columns())
}
