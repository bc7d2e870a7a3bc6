package org.apache.spark.sql.transom.schema

import scala.util.control.NoStackTrace
import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.types._

import transom.engine.setting.Constants

/** The types of everything that the state of an operator holds.
  *
  * Spark's rows do not say which columns they have, so bytes of the state can be read only with
  * the schema that they were written with.
  *
  * @param keys
  *   the keys
  * @param accumulators
  *   the aggregation buffers
  * @param rows
  *   the rows of windows; empty if the operator keeps none
  * @param tops
  *   the rows that each `top` keeps in its accumulators
  */
final case class StateSchema private (
    keys: StructType,
    accumulators: StructType,
    rows: StructType,
    tops: Seq[StructType]) {
  import StateSchema._

  /** A number for the schema, which another schema is unlikely to have. It does not depend on
    * other schemas. So a value is never read with a wrong schema, even if the file with the
    * schemas is older than the state.
    */
  def number: Int = MurmurHash3.stringHash(asType.json)

  /** The schema as one type, in the form in which the checkpoint has it. */
  def asType: StructType =
    parts.foldLeft(new StructType) { case (all, (name, part)) => all.add(name, part) }

  private def parts: Seq[(String, StructType)] =
    Seq(Keys -> keys, Accumulators -> accumulators, Rows -> rows, Tops -> asColumns(tops))

  /** The first column whose stored values cannot be read under `current`; none if all can. */
  def problem(current: StateSchema, isCaseSensitive: Boolean): Option[SchemaMismatch] = {
    def same(from: StructType, to: StructType): Unit = RowReader.requireSame(from, to)
    def readable(from: StructType, to: StructType): Unit =
      new RowReader(from, to, isCaseSensitive, zone = "UTC"): Unit
    try {
      same(keys, current.keys)
      same(accumulators, current.accumulators)
      readable(rows, current.rows)
      // Each `top` has an accumulator, so both schemas have the same number of them.
      tops.zip(current.tops).foreach { case (from, to) => readable(from, to) }
      None
    } catch { case mismatch: SchemaMismatch => Some(mismatch) }
  }
}

object StateSchema {
  private final val Keys = "keys"
  private final val Accumulators = "accumulators"
  private final val Rows = "rows"
  private final val Tops = "top"

  val empty: StateSchema = of(Nil, Nil, Nil, _ => false, Nil)

  /** Builds a schema.
    *
    * @param isOwn
    *   whether a column of a row is the operator's own. Such columns have numbers, because their
    *   names mean nothing. The user's columns have their names.
    */
  def of(
      keys: Seq[Attribute],
      accumulators: Seq[Attribute],
      rows: Seq[Attribute],
      isOwn: Attribute => Boolean,
      tops: Seq[StructType]): StateSchema = {
    def numbered(columns: Seq[Attribute]) = columns.zipWithIndex.map { case (column, i) =>
      column.withName(nameOf(i))
    }
    val (own, _) = rows.partition(isOwn)
    val names = own.zip(numbered(own)).toMap
    new StateSchema(
      plain(DataTypeUtils.fromAttributes(keys)),
      plain(DataTypeUtils.fromAttributes(numbered(accumulators))),
      plain(DataTypeUtils.fromAttributes(rows.map(column => names.getOrElse(column, column)))),
      tops.map(plain))
  }

  private def nameOf(number: Int): String = s"${Constants.HiddenPrefix}_$number"

  private def asColumns(structs: Seq[StructType]): StructType =
    StructType(structs.zipWithIndex.map { case (struct, i) => StructField(nameOf(i), struct) })

  /** Reads `asType`. Throws an exception for any other type. */
  def of(stored: DataType): StateSchema = {
    def structOf(name: String, of: DataType) = of match {
      case struct: StructType => struct
      case other => throw new IllegalArgumentException(s"$name has the type ${other.sql}")
    }
    def part(name: String) = structOf(name, structOf("the schema", stored)(name).dataType)
    val tops = part(Tops).map(field => structOf(Tops, field.dataType))
    new StateSchema(part(Keys), part(Accumulators), part(Rows), tops)
  }

  // Metadata says nothing about bytes.
  private def plain(struct: StructType): StructType = StructType(
    struct.map(field => StructField(field.name, plain(field.dataType), field.nullable)))

  private def plain(of: DataType): DataType = of match {
    case struct: StructType => plain(struct)
    case ArrayType(element, nullable) => ArrayType(plain(element), nullable)
    case MapType(key, value, nullable) => MapType(plain(key), plain(value), nullable)
    case other => other
  }
}

/** The schemas with which the state of an operator was written.
  *
  * Each value that holds rows of the user has the number of its schema, because a value that no
  * row touches keeps its bytes over runs with several schemas. The driver chooses the numbers and
  * sends them to the tasks with the plan.
  *
  * @param all
  *   the schemas by number
  * @param file
  *   the file with the schemas
  * @param operator
  *   the window operator
  * @param current
  *   the number of the schema of this run
  * @param zone
  *   the time zone of casts between dates and timestamps
  */
final case class StateSchemas(
    all: Map[Int, StateSchema],
    current: Int,
    isCaseSensitive: Boolean,
    zone: String,
    operator: String,
    file: String) {

  def now: StateSchema = all(current)

  /** The schema with a number. Throws `TRANSOM_SPEC_DAMAGED` if the file does not have it. */
  def apply(number: Int): StateSchema = all.getOrElse(
    number,
    throw new TransomException(
      "TRANSOM_SPEC_DAMAGED",
      Map(
        "file" -> file,
        "problem" -> s"lacks the schema $number of a stored value",
        "operator" -> operator)))

  /** A reader of values with rows of windows, for one task. */
  def rowReader(number: Int): RowReader = reader(number, _.rows)

  /** A reader of the rows that a `top` keeps, for one task.
    *
    * @param index
    *   its index among the functions `top` of the operator
    */
  def topReader(number: Int, index: Int): RowReader = reader(number, _.tops(index))

  private def reader(number: Int, part: StateSchema => StructType): RowReader =
    new RowReader(part(this(number)), part(now), isCaseSensitive, zone)
}

object StateSchemas {

  /** The schemas of an operator whose state begins with this run. */
  def only(schema: StateSchema): StateSchemas =
    StateSchemas(Map(0 -> schema), 0, isCaseSensitive = true, zone = "UTC", "", "")
}

/** A column whose stored values cannot be read.
  *
  * @param path
  *   the column, and the fields that lead to the value
  * @param before
  *   the type of stored values
  * @param after
  *   the type that this run expects
  */
final class SchemaMismatch(
    val path: Seq[String],
    val before: Option[StructField],
    val after: Option[StructField])
    extends Exception
    with NoStackTrace

/** Reads rows of one schema as rows of another, by name.
  *
  *   - The order of columns does not matter.
  *   - A column that is not stored is null, so it must be nullable.
  *   - A stored column that is no longer there is dropped.
  *   - A value is cast if Spark allows an up-cast between the types.
  *   - Structs follow these rules too, also in arrays and in values of maps. Keys of maps keep
  *     their type.
  *
  * The constructor throws a [[SchemaMismatch]] for any other difference. Not thread-safe.
  */
final class RowReader(from: StructType, to: StructType, isCaseSensitive: Boolean, zone: String) {
  private val read = struct(Nil, from, to)
  private lazy val toUnsafe = UnsafeProjection.create(to)

  /** Reads a row. The result is valid until the next call. */
  def apply(row: InternalRow): UnsafeRow = toUnsafe(read(row))

  /** Reads the values of a row. */
  def values(row: InternalRow): InternalRow = read(row)

  private def struct(
      path: Seq[String],
      from: StructType,
      to: StructType): InternalRow => InternalRow = {
    val fields = to.fields.map { field =>
      sourceOf(path, field, from, to) match {
        case Some(i) =>
          val get = InternalRow.getAccessor(from(i).dataType)
          val convert = value(path :+ field.name, from(i), field)
          (row: InternalRow) => convert(get(row, i))
        case None if field.nullable => (_: InternalRow) => null
        case None => throw new SchemaMismatch(path :+ field.name, None, Some(field))
      }
    }
    row => new GenericInternalRow(fields.map(_(row)))
  }

  /** The stored field that has the name of `field`. */
  private def sourceOf(
      path: Seq[String],
      field: StructField,
      from: StructType,
      to: StructType): Option[Int] = {
    def named(struct: StructType, same: String => Boolean) =
      struct.indices.filter(i => same(struct(i).name))
    def exactly(struct: StructType) = named(struct, _ == field.name)
    def like(struct: StructType, other: StructType) =
      named(struct, name => name.equalsIgnoreCase(field.name) && !other.fieldNames.contains(name))
    val (source, twins) =
      if (exactly(from).nonEmpty || isCaseSensitive) (exactly(from), exactly(to))
      else (like(from, to), like(to, from))
    // Which of several columns with one name is which cannot be said.
    if (source.length > 1 || source.nonEmpty && twins.length > 1)
      throw new SchemaMismatch(path :+ field.name, source.headOption.map(from(_)), Some(field))
    source.headOption
  }

  private def value(path: Seq[String], from: StructField, to: StructField): Any => Any = {
    def refused = throw new SchemaMismatch(path, Some(from), Some(to))
    if (from.nullable && !to.nullable) refused
    else
      (from.dataType, to.dataType) match {
        case (before, after) if before == after => value => value
        case (before: StructType, after: StructType) =>
          val convert = struct(path, before, after)
          unlessNull(value => convert(value.asInstanceOf[InternalRow]))
        case (ArrayType(before, hasNulls), ArrayType(after, mayHaveNulls)) =>
          val convert = value(
            path :+ "element",
            StructField("element", before, hasNulls),
            StructField("element", after, mayHaveNulls))
          unlessNull(value =>
            new util.GenericArrayData(
              value.asInstanceOf[util.ArrayData].toObjectArray(before).map(convert)))
        case (MapType(key, before, hasNulls), MapType(sameKey, after, mayHaveNulls))
            if key == sameKey =>
          val convert = value(
            path :+ "value",
            StructField("value", before, hasNulls),
            StructField("value", after, mayHaveNulls))
          unlessNull { value =>
            val map = value.asInstanceOf[util.MapData]
            new util.ArrayBasedMapData(
              map.keyArray(),
              new util.GenericArrayData(map.valueArray().toObjectArray(before).map(convert)))
          }
        case (before: AtomicType, after: AtomicType) if Cast.canUpCast(before, after) =>
          val cast = Cast(BoundReference(0, before, nullable = true), after, Some(zone))
          unlessNull(value => cast.eval(InternalRow(value)))
        case _ => refused
      }
  }

  private def unlessNull(convert: Any => Any): Any => Any =
    value => if (value == null) null else convert(value)
}

private object RowReader {

  /** Throws a [[SchemaMismatch]] unless rows of `from` can be read as rows of `to` without a
    * change.
    */
  def requireSame(from: StructType, to: StructType): Unit = {
    def same(path: Seq[String], before: StructField, after: StructField): Unit = {
      def inside(name: String, a: DataType, aNullable: Boolean, b: DataType, bNullable: Boolean) =
        same(path :+ name, StructField(name, a, aNullable), StructField(name, b, bNullable))
      def refused = throw new SchemaMismatch(path, Some(before), Some(after))
      if (before.nullable && !after.nullable) refused
      else
        (before.dataType, after.dataType) match {
          case (a, b) if a == b =>
          case (a: StructType, b: StructType) if a.names.sameElements(b.names) =>
            a.zip(b).foreach { case (x, y) => same(path :+ x.name, x, y) }
          case (ArrayType(a, aNullable), ArrayType(b, bNullable)) =>
            inside("element", a, aNullable, b, bNullable)
          case (MapType(k, a, aNullable), MapType(l, b, bNullable)) =>
            inside("key", k, aNullable = false, l, bNullable = false)
            inside("value", a, aNullable, b, bNullable)
          case _ => refused
        }
    }
    if (from.length != to.length)
      throw new SchemaMismatch(
        Nil,
        Some(StructField("", from, nullable = true)),
        Some(StructField("", to, nullable = true)))
    from.zip(to).foreach { case (a, b) => same(Seq(b.name), a, b) }
  }
}
