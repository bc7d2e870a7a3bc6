package transom.engine.setting

/** Constants that Python and the JVM share.
  *
  * Generated from `spec/constants.json` by `make generate`.
  */
object Constants {

  /** Version of the message. A jar reads only this version. */
  final val MessageVersion = 5

  /** Longest duration that a user may set, in days. */
  final val LongestDurationDays = 10000000

  /** Largest number of windows that a row may be assigned to. */
  final val MostWindowsPerRow = 10000000

  /** Largest number of calendar units in a window. This many years fit into microseconds. */
  final val MostCalendarUnits = 100000

  /** Regular expression of the names that a window operator may have. */
  final val OperatorNamePattern = "[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"

  /** Prefix of the columns that transom adds to rows. */
  final val HiddenPrefix = "__transom"

  /** Struct column with the older of the two rows that a distance function compares. */
  final val OlderRow = "__transom_older"

  /** Struct column with the newer of the two rows that a distance function compares. */
  final val NewerRow = "__transom_newer"

  /** SQL function behind `reduce`. */
  final val ReduceFunction = "__transom_reduce"

  /** SQL function that identifies the accumulator of a row. */
  final val PlaceFunction = "__transom_place"

  /** SQL function that collects the accumulators of a window for Python. */
  final val PartsFunction = "__transom_parts"

  /** SQL function behind `Windowed.top`. */
  final val TopFunction = "__transom_top"

  /** Name of the column with the rank of a row in the results of `Windowed.top`. */
  final val RankColumn = "rank"

  /** Prefix of the columns with a key that a function receives. The name of the key follows. */
  final val CallKeyPrefix = "key:"

  /** Metadata of a field that stands for the column of a window operator with its name. */
  final val ColumnOf = "transom.column"
}
