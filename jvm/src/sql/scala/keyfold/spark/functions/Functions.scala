package keyfold.spark.functions

/** Driver side: all functions of a catalog for its users, by each of their names. */
object Functions {
  val all: Seq[Declared] = Seq(
    ToBitmap32, ToBitmap64, BitmapFromString, BitmapFromArray, RbBuild, BitmapEmpty, BitmapHash, BitmapHash64,
    BitmapCount, BitmapContains, BitmapMin, BitmapMax, BitmapToString, BitmapToArray,
    BitmapAnd, BitmapOr, BitmapXor, BitmapAndNot, BitmapAndCount, BitmapOrCount, BitmapXorCount, BitmapAndNotCount,
    BitmapHasAny, BitmapHasAll, BitmapSubsetInRange, BitmapSubsetLimit, SubBitmap,
    BitmapUnion, BitmapUnionCount, BitmapIntersect, GroupBitmapXor, BitmapAgg, BitmapUnionInt,
    IntersectCount, OrthogonalBitmapIntersect,
    HllHash, HllEmpty, HllCardinality, HllUnion, HllUnionAgg,
    ToQuantileState, QuantileStateEmpty, QuantilePercent, QuantileUnion)

  val byName: Map[String, Declared] = all.flatMap(function => function.about.allNames.map(_ -> function)).toMap

  def find(name: String): Option[Declared] = byName.get(name.toLowerCase(java.util.Locale.ROOT))
}
