package keyfold.spark.functions

/** Driver side: all functions of a catalog for its users, by each of their names. */
object Functions {
  val all: Seq[Declared] = Seq(
    ToBitmap32, ToBitmap64, BitmapFromString, BitmapFromArray, RbBuild, BitmapEmpty, BitmapHash, BitmapHash64,
    BitmapCount, BitmapContains, BitmapMin, BitmapMax, BitmapToString, BitmapToArray,
    BitmapHasAny, BitmapHasAll, BitmapSubsetInRange, BitmapSubsetLimit, SubBitmap,
    HllHash, HllEmpty, HllCardinality,
    ToQuantileState, QuantileStateEmpty, QuantilePercent) ++ BitmapAlgebra.all

  val byName: Map[String, Declared] = all.flatMap(function => function.names.split(' ').map(_ -> function)).toMap

  def find(name: String): Option[Declared] = byName.get(name.toLowerCase(java.util.Locale.ROOT))
}
