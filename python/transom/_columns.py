"""Checks of the columns that a time or a window names, against the DataFrame of a stream."""

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DayTimeIntervalType,
    StructField,
    StructType,
    TimestampNTZType,
)

from transom._base.columns import field_of, fields_of, has_columns, is_time, is_timestamp
from transom._base.durations import is_duration
from transom._base.errors import column_type_error, type_error, value_error
from transom._base.exclusions import exclusion
from transom._base.expressions import Col, check_column, column, text_of
from transom._base.values import is_kind_of
from transom.spec.times.time_policies import Clock, EventTime, ProcessingTime, Time, TimePolicy
from transom.spec.times.time_rules import Punctuated
from transom.spec.windows.assigners import Count, Custom, Global, Window
from transom.spec.windows.lifetimes import Lifetime
from transom.spec.windows.sessions import Session

# The column of the results with their window.
_WINDOW = "window"


def checked_time(df: DataFrame, time: Time) -> Clock:
    """Return a time whose columns exist and have the right type.

    Raises the conditions that `stream` describes.
    """
    given: object = time
    if not isinstance(given, str | Column | Clock):
        expected = "a column name, a Column, EventTime(...), TimePolicy(...) or ProcessingTime()"
        raise type_error("time", given, expected)
    clock = time if isinstance(time, Clock) else EventTime(time)
    if not has_columns(df):
        return clock
    if isinstance(clock, ProcessingTime):
        if not df.isStreaming:
            raise value_error("CLOCK_IN_BATCH", argument="time")
        return clock
    if isinstance(clock, TimePolicy):
        _check_policy(df, clock)
        return clock
    field = field_of(df, "time", clock.time)
    if not is_time(field.dataType) or _lacks_zone(df, field):
        raise _not_a_timestamp("time", clock.time, field)
    return clock


def check_timestamp(df: object, argument: str, value: object, *, needs_zone: bool = True) -> None:
    """Check a column under the name of an argument of a preset.

    A time of a stream needs a time zone, and the end of a lifetime does not.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if the value is neither a Column nor a name.
    PySparkValueError
        ``TRANSOM_UNKNOWN_COLUMN`` or ``TRANSOM_NOT_A_TIMESTAMP`` if `df` is a DataFrame whose
        columns are known.
    """
    check_column(argument, value)
    if isinstance(df, DataFrame) and isinstance(value, str | Column) and has_columns(df):
        _check_timestamp(df, argument, value, needs_zone=needs_zone)


def _check_timestamp(df: DataFrame, argument: str, name: Col, *, needs_zone: bool = True) -> None:
    field = field_of(df, argument, name)
    if not is_timestamp(field.dataType) or (needs_zone and _lacks_zone(df, field)):
        raise _not_a_timestamp(argument, name, field)


def checked_lifetime(df: DataFrame, lifetime: Col | Lifetime, time: Time | None) -> Lifetime:
    """Return a lifetime whose columns exist and have the right type."""
    given: object = lifetime
    is_column = isinstance(given, str) and has_columns(df) and given in df.columns
    if is_duration(given) and not is_column:
        raise type_error("lifetime", given, f"transom.Lifetime(duration={given!r})")
    if not isinstance(given, str | Column | Lifetime):
        raise type_error("lifetime", given, "a Column, a column name or a transom.Lifetime")
    if time is None or isinstance(time, ProcessingTime):
        raise value_error("NOT_EVENT_TIME", argument="lifetime")
    life = lifetime if isinstance(lifetime, Lifetime) else Lifetime(lifetime)
    if has_columns(df):
        _check_lifetime(df, life)
    if life.id and isinstance(time, TimePolicy) and time.time is None:
        raise exclusion("lifetime_id", "arrival_time").error(argument="lifetime")
    return life


def _check_lifetime(df: DataFrame, life: Lifetime) -> None:
    if life.end is not None:
        _check_timestamp(df, "lifetime", life.end, needs_zone=False)
    if isinstance(life.duration, Column):
        _check_interval(df, "duration", life.duration)
    fields_of(df, "id", life.id)


def _check_interval(df: DataFrame, argument: str, length: Column) -> None:
    field = field_of(df, argument, length)
    if not isinstance(field.dataType, DayTimeIntervalType):
        expected = "a Column of type INTERVAL DAY TO SECOND, as F.make_dt_interval returns it"
        raise column_type_error(argument, length, field.dataType, expected)


def check_window(df: DataFrame, window: Window, time: Clock | None) -> None:
    """Check a window against the rows and the time of a stream.

    Raises the conditions that `Stream.window` describes.
    """
    if not is_kind_of(Window, window):
        raise type_error("window", window, _window_for(window))
    if not isinstance(window, Count | Global):
        check_has_time(df, type(window).__name__, time)
    if isinstance(time, TimePolicy) and time.over and time.partition is not None:
        raise value_error("TIME_POLICY_UNSUPPORTED", argument="window", setting="partition")
    if isinstance(window, Session) and isinstance(window.gap, Column) and has_columns(df):
        _check_interval(df, "gap", window.gap)
    if isinstance(window, Custom) and has_columns(df):
        windows = field_of(df, "windows", window.windows)
        kind = windows.dataType
        # is_time() also accepts a timestamp, so the element must be checked to be a struct.
        if not (
            isinstance(kind, ArrayType)
            and isinstance(kind.elementType, StructType)
            and is_time(kind.elementType)
        ):
            expected = "a Column of type ARRAY<STRUCT<start: TIMESTAMP, end: TIMESTAMP>>"
            raise column_type_error("windows", window.windows, kind, expected)


def check_has_time(df: DataFrame, what: str, time: Clock | None) -> None:
    """Raise ``TRANSOM_NO_CLOCK`` if a stream has no time."""
    if time is None:
        fix = "Set the column that holds the time, as in stream(df, time='departed')"
        if has_columns(df) and _WINDOW in df.columns:
            fix += ". For the results of other windows, write stream(df, time='window')"
        raise value_error("NO_CLOCK", argument="window", value=what, fix=fix)


def _window_for(value: object) -> str:
    """Return the window that a value other than a window of transom may stand for."""
    if is_duration(value):
        return f"a window such as transom.Tumbling({value!r})"
    if isinstance(value, list | tuple | dict):
        return "transom.Windows(...) around several windows"
    if isinstance(value, Window):
        return "a window of transom, such as transom.Custom('shifts') for windows of your own"
    if isinstance(getattr(value, "window", None), Window):
        return "the window without an id, or azure.Windows() around windows with ids"
    return "a window such as transom.Tumbling('1 hour')"


def _check_policy(df: DataFrame, policy: TimePolicy) -> None:
    for argument, name in (("time", policy.time), ("arrival", policy.arrival)):
        if name is not None:
            _check_timestamp(df, argument, name)
    if policy.partition is not None:
        fields_of(df, "partition", [policy.partition])
    fields_of(df, "over", policy.over)
    if isinstance(policy.advance, Punctuated):
        _check_punctuation(df, policy.advance)


def _check_punctuation(df: DataFrame, advance: Punctuated) -> None:
    when = field_of(df, "when", column(advance.when))
    if when.dataType != BooleanType():
        raise value_error(
            "NOT_A_CONDITION",
            argument="when",
            expression=repr(text_of(advance.when)),
            type=when.dataType.simpleString(),
        )
    _check_timestamp(df, "at", advance.at)


def _lacks_zone(df: DataFrame, field: StructField) -> bool:
    # Spark allows no watermark on a timestamp without time zone.
    return df.isStreaming and field.dataType == TimestampNTZType()


def _not_a_timestamp(argument: str, name: Col, field: StructField) -> Exception:
    return value_error(
        "NOT_A_TIMESTAMP",
        argument=argument,
        column=repr(text_of(name)),
        type=field.dataType.simpleString(),
    )
