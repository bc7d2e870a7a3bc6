package transom.engine.conformance.vector

import upickle.core.{ArrVisitor, ObjVisitor, Visitor}

/** A JSON value whose integers keep all 64 bits, which `ujson.Value` would read as doubles.
  *
  * The value is a `Long`, a `BigDecimal` (other numbers), a `String`, a `Boolean`, null, or a
  * `Vector` or `Map` of these. Values with the same meaning are equal. What is missing is
  * `Malformed`.
  */
final class Json private (val value: Any, path: String) {

  def isNull: Boolean = value == null

  def has(name: String): Boolean = fields.contains(name)

  def apply(name: String): Json =
    new Json(fields.getOrElse(name, fail(s"has no field $name")), s"$path.$name")

  /** A field, unless it is missing or null. */
  def get(name: String): Option[Json] =
    fields.get(name).filter(_ != null).map(new Json(_, s"$path.$name"))

  def elements: Seq[Json] = value match {
    case items: Vector[_] =>
      items.zipWithIndex.map { case (item, i) => new Json(item, s"$path[$i]") }
    case _ => fail("is not a list")
  }

  def long: Long = value match {
    case number: Long => number
    case _ => fail("is not a 64 bit integer")
  }

  def number: BigDecimal = value match {
    case number: Long => BigDecimal(number)
    case number: BigDecimal => number
    case _ => fail("is not a number")
  }

  def string: String = value match {
    case text: String => text
    case _ => fail("is not a string")
  }

  def boolean: Boolean = value match {
    case truth: Boolean => truth
    case _ => fail("is not true or false")
  }

  /** All integers in the value, at any depth. */
  def integers: Iterator[Long] = Json.integersOf(value)

  private def fields: Map[String, Any] = value match {
    case map: Map[_, _] => map.asInstanceOf[Map[String, Any]]
    case _ => fail("is not an object")
  }

  private def fail(problem: String): Nothing =
    throw new Malformed(s"${if (path.isEmpty) "the vector" else path.stripPrefix(".")} $problem")

  override def toString: String = Json.show(value)
}

/** The vector does not follow its schema. */
final class Malformed(message: String) extends RuntimeException(message)

object Json {

  def parse(text: String): Json =
    try new Json(ujson.transform(text, Reader), "")
    catch { case e: ujson.ParsingFailedException => throw new Malformed(e.getMessage) }

  /** Converts whole numbers to `Long`, however they are written. */
  def normal(number: BigDecimal): Any =
    if (number.isValidLong) number.toLongExact else number

  def show(value: Any): String = value match {
    case null => "null"
    case text: String => ujson.write(text)
    case items: Seq[_] => items.map(show).mkString("[", ", ", "]")
    case map: Map[_, _] =>
      map.map { case (name, field) => s"${show(name)}: ${show(field)}" }.mkString("{", ", ", "}")
    case other => other.toString
  }

  private def integersOf(value: Any): Iterator[Long] = value match {
    case number: Long => Iterator(number)
    case items: Vector[_] => items.iterator.flatMap(integersOf)
    case map: Map[_, _] => map.valuesIterator.flatMap(integersOf)
    case _ => Iterator.empty
  }

  private object Reader extends ujson.JsVisitor[Any, Any] {

    override def visitArray(length: Int, index: Int): ArrVisitor[Any, Any] =
      new ArrVisitor[Any, Any] {
        private val items = Vector.newBuilder[Any]
        override def subVisitor: Visitor[_, _] = Reader
        override def visitValue(value: Any, index: Int): Unit = items += value
        override def visitEnd(index: Int): Any = items.result()
      }

    override def visitJsonableObject(length: Int, index: Int): ObjVisitor[Any, Any] =
      new ObjVisitor[Any, Any] {
        private val fields = Map.newBuilder[String, Any]
        private var name = ""
        override def visitKey(index: Int): Visitor[_, _] = Reader
        override def visitKeyValue(key: Any): Unit = name = key.toString
        override def subVisitor: Visitor[_, _] = Reader
        override def visitValue(value: Any, index: Int): Unit = fields += name -> value
        override def visitEnd(index: Int): Any = fields.result()
      }

    override def visitNull(index: Int): Any = null
    override def visitFalse(index: Int): Any = false
    override def visitTrue(index: Int): Any = true
    override def visitString(text: CharSequence, index: Int): Any = text.toString
    override def visitFloat64StringParts(
        text: CharSequence,
        decimalPoint: Int,
        exponent: Int,
        index: Int): Any = normal(BigDecimal(text.toString))
  }
}
