package transom.engine.conformance.vector

/** The aggregates of the vectors, over the values of a window in order of arrival. */
object Values {

  /** Returns the function that computes the outputs of a window: none, one, or one per row. */
  def aggregate(name: String): Seq[Json] => Seq[Any] = name match {
    case "sum" => values => Seq(sum(values))
    case "count" => values => Seq(values.size.toLong)
    case "sum_count" =>
      values => Seq(Map("sum" -> sum(values), "count" -> values.size.toLong))
    case "list_each" => values => values.map(_.value)
    case "none" => _ => Nil
    case "even_minus_odd" => values => Seq(evenMinusOdd(values))
    case "first_key_sum" => pairs => Seq(Vector(key(pairs.head), sum(pairs.map(second))))
    case "last_key_sum" => pairs => Seq(Vector(key(pairs.last), sum(pairs.map(second))))
    case "last_key_even_minus_odd" =>
      pairs => Seq(Vector(key(pairs.last), evenMinusOdd(pairs.map(second))))
    case "max_by_speed" => values => Seq(values.maxBy(_("speed").number).value)
    case other => throw new Malformed(s"aggregate is $other")
  }

  private def sum(values: Seq[Json]): Any = Json.normal(values.map(_.number).sum)

  private def evenMinusOdd(values: Seq[Json]): Any = {
    val (even, odd) = values.partition(_.long % 2 == 0)
    (even.size - odd.size).toLong
  }

  private def key(pair: Json): Any = pair.elements.head.value

  private def second(pair: Json): Json = pair.elements(1)
}
