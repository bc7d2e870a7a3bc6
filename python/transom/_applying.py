"""Functions over windows, as they are put behind a window stage."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.errors import ParseException, PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StringType, StructField, StructType

from transom._calls import Calls
from transom._errors import type_error, value_error
from transom.spec import WindowSpec


def check_function(argument: str, function: object) -> bool:
    """Whether a function takes a context beside the rows.

    Arguments with defaults keep them, as long as it can be called with the rows alone.
    """
    if not callable(function):
        raise type_error(argument, function, "a function of the rows of a window")
    try:
        signature = inspect.signature(function)
    except ValueError:
        # Some that are not written in Python do not say what they take.
        raise _bad_function(argument, function) from None
    for arguments in ((None,), (None, None)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return len(arguments) == 2
    raise _bad_function(argument, function)


def _bad_function(argument: str, function: object) -> Exception:
    return value_error(
        "BAD_FUNCTION",
        argument=argument,
        value=repr(name_of(function)),
        arguments="1 or 2 arguments",
        expected=(
            "a function of the rows of a window or, to be told which window it is, of rows and "
            "context"
        ),
    )


def name_of(function: object) -> str:
    """What a function is called."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def check_arguments(argument: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Refuses a function that cannot be called with just these arguments."""
    try:
        inspect.signature(function).bind(*names)
    except TypeError:
        raise value_error(
            "BAD_FUNCTION",
            argument=argument,
            value=repr(name_of(function)),
            arguments=f"{len(names)} arguments",
            expected=f"it the arguments ({', '.join(['self', *names])})",
        ) from None


def schema_of(argument: str, schema: str | StructType, reserved: Sequence[str]) -> StructType:
    """The schema of what a function returns."""
    if not isinstance(schema, str | StructType):
        raise type_error(argument, schema, "a schema as text, or a StructType")
    parsed = type_of(argument, schema)
    if not isinstance(parsed, StructType) or not parsed.fields:
        raise _bad_schema(argument, schema, "it has no columns")
    twice = [name for name in parsed.names if parsed.names.count(name) > 1]
    if twice:
        raise _bad_schema(argument, schema, f"it has two columns named {twice[0]!r}")
    for name in parsed.names:
        if name.lower() in reserved:
            raise value_error("RESERVED_NAME", argument=argument, column=repr(name))
    return parsed


def type_of(argument: str, kind: str | DataType) -> DataType:
    """A type of Spark's that values from Python can have."""
    if not isinstance(kind, str | DataType):
        raise type_error(argument, kind, "a type as text, such as 'double', or a DataType")
    try:
        parsed = DataType.fromDDL(kind) if isinstance(kind, str) else kind
        # Not all types of Spark's can come back from Python.
        to_arrow_type(parsed, timezone="UTC")
    except (ParseException, PySparkTypeError) as error:
        raise _bad_schema(
            argument, kind, str(error).strip().split("\n")[0].removesuffix(".")
        ) from None
    return parsed


def _bad_schema(argument: str, schema: str | DataType, why: str) -> Exception:
    shown = schema if isinstance(schema, str) else schema.simpleString()
    return value_error("BAD_SCHEMA", argument=argument, value=repr(shown), why=why)


def called(
    calls: DataFrame, keys: Sequence[str], spec: WindowSpec, function: Callable[..., Any]
) -> DataFrame:
    """The results of a function, behind the stage that yields its calls."""
    assert spec.function is not None
    run = Calls(
        name=name_of(function),
        function=function,
        takes_context=check_function("fn", function),
        in_pandas=spec.function.form == "pandas",
        keys=tuple(keys),
        has_pane=spec.pane,
        asides=spec.asides,
        returned=to_arrow_schema(spec.function.schema, timezone="UTC"),
    ).run
    front = [*calls.schema.fields[: len(keys)], calls.schema["window"]]
    names = [*keys, "window"]
    if spec.pane:
        front, names = [*front, calls.schema["pane"]], [*names, "pane"]
    fields = [
        StructField(name, field.dataType, field.nullable, field.metadata)
        for name, field in zip(names, front, strict=True)
    ]
    results = StructType([*fields, *spec.function.schema.fields])
    if spec.asides:
        tag = StructField("tag", StringType())
        asides = [calls.schema[name] for name in spec.asides]
        results = StructType([tag, StructField("results", results), *asides])
    return calls.mapInArrow(run, results)
