package keyfold.spark.procedures

import keyfold.spark.{Json, KeyfoldCatalog}
import keyfold.spark.table.Names
import org.apache.spark.sql.connector.catalog.{Identifier, ProcedureCatalog}
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure

/** Driver side: the procedures of a catalog: `CALL <catalog>.sys.<name>(…)`. */
trait KeyfoldProcedures extends ProcedureCatalog { this: KeyfoldCatalog =>
  private def system: Array[String] = Array("sys")
  private lazy val procedures: Seq[KeyfoldProcedure] =
    Json.items(questions.ask("list_procedures")).map(new KeyfoldProcedure(_, this))

  override def listProcedures(namespace: Array[String]): Array[Identifier] =
    if (isSystem(namespace)) procedures.map(one => Identifier.of(system, one.name)).toArray
    else Array.empty

  /** Spark hides the reason why a procedure is missing, but not the error of its binding. */
  override def loadProcedure(ident: Identifier): UnboundProcedure =
    procedures.find(one => isSystem(ident.namespace) && one.name.equalsIgnoreCase(ident.name))
      .getOrElse(new NoProcedure(Names.shown(name() +: ident.namespace.toSeq :+ ident.name),
        s"${name()}.sys has ${procedures.map(_.name).mkString(", ")}"))

  private def isSystem(namespace: Array[String]): Boolean =
    namespace.isEmpty || namespace.sameElements(system)
}
