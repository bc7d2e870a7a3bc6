"""Checks of user functions, and the plan that calls a function behind a window operator."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, IntegerType, StringType, StructField, StructType

from transom import _bridge
from transom._base.columns import Schema, column_of, first_line, is_in_flow, may_be_streaming
from transom._base.constants import CALL_KEY_PREFIX
from transom._base.errors import reserved_name, type_error, value_error
from transom._calls.calls import Calls
from transom._calls.stateful import (
    PACKED,
    RESULT,
    Processor,
    StatefulCalls,
    group_column,
    unpack,
)
from transom.spec.window_spec import Apply, WindowSpec
from transom.spec.windows.assigners import Count, Global


def check_function(argument: str, function: object) -> bool:
    """Check the signature of a function, and return whether the function takes a context.

    Arguments with default values keep them if the function can be called with the rows alone.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE`` if it is not callable.
    PySparkValueError
        ``TRANSOM_BAD_FUNCTION`` if it accepts neither one nor two arguments.
    """
    if not callable(function):
        raise type_error(argument, function, "a function of the rows of a window")
    # F.udf and F.pandas_udf return functions with this attribute.
    if hasattr(function, "evalType"):
        raise type_error(argument, function, "the Python function, without F.udf or F.pandas_udf")
    try:
        signature = inspect.signature(function)
    except ValueError:
        # Functions written in C may have no signature.
        raise _bad_function(argument, function) from None
    for arguments in ((None,), (None, None)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return len(arguments) == 2
    raise _bad_function(argument, function)


def check_takes_context(argument: str, function: Callable[..., Any], because_of: str) -> None:
    """Raise ``TRANSOM_BAD_FUNCTION`` if a function takes no context.

    Without a context it cannot reach its state or its outputs.
    """
    if not check_function(argument, function):
        raise value_error(
            "BAD_FUNCTION",
            argument=argument,
            value=repr(name_of(function)),
            arguments=f"2 arguments because of {because_of}",
            expected="a function with the arguments (rows, context)",
        )


def _bad_function(argument: str, function: object) -> Exception:
    return value_error(
        "BAD_FUNCTION",
        argument=argument,
        value=repr(name_of(function)),
        arguments="1 or 2 arguments",
        expected="a function with the arguments (rows) or (rows, context)",
    )


def name_of(function: object) -> str:
    """Return the name of a function, or of the class of a callable object."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def check_arguments(argument: str, function: Callable[..., Any], names: Sequence[str]) -> None:
    """Raise ``TRANSOM_BAD_FUNCTION`` if a function does not accept exactly these arguments."""
    try:
        inspect.signature(function).bind(*names)
    except (TypeError, ValueError):
        raise value_error(
            "BAD_FUNCTION",
            argument=argument,
            value=repr(name_of(function)),
            arguments=f"{len(names)} arguments",
            expected=f"a method with the arguments ({', '.join(['self', *names])})",
        ) from None


def schema_of(argument: str, schema: Schema, reserved: Sequence[str]) -> StructType:
    """Parse and check the schema of the rows that a function returns.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkValueError
        ``TRANSOM_BAD_SCHEMA`` for no columns, two columns of one name, or a type that Arrow lacks.
        ``TRANSOM_RESERVED_NAME`` for a reserved name.
    """
    if not isinstance(schema, str | StructType):
        raise type_error(argument, schema, "a schema as a string, or a StructType")
    parsed = type_of(argument, schema)
    if not isinstance(parsed, StructType) or not parsed.fields:
        raise _bad_schema(argument, schema, "it has no columns")
    lower = [name.lower() for name in parsed.names]
    twice = [name for name in parsed.names if lower.count(name.lower()) > 1]
    if twice:
        raise _bad_schema(argument, schema, f"it has two columns with the name {twice[0]!r}")
    for name in parsed.names:
        if name.lower() in reserved:
            raise reserved_name(argument, name)
    return parsed


def outputs_of(
    outputs: Mapping[str, Schema], tags: Sequence[str], reserved: Sequence[str]
) -> dict[str, StructType]:
    """Parse and check the schemas of named outputs, and return them by name.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``, also for a name that is no Python identifier.
    PySparkValueError
        ``TRANSOM_BAD_SCHEMA``. ``TRANSOM_RESERVED_NAME`` for a reserved or repeated name.
    """
    if not isinstance(outputs, Mapping):
        raise type_error("outputs", outputs, "a mapping of names to schemas")
    found: dict[str, StructType] = {}
    for name, schema in outputs.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise type_error("outputs", name, "Python identifiers as names")
        if name.lower() in (*tags, *(other.lower() for other in found)):
            raise reserved_name("outputs", name)
        found[name] = schema_of("outputs", schema, reserved)
    return found


def type_of(argument: str, kind: str | DataType) -> DataType:
    """Parse a Spark type, and check that Arrow can transfer it from Python to Spark.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.
    PySparkValueError
        ``TRANSOM_BAD_SCHEMA``. ``TRANSOM_PIPELINE_UNSUPPORTED`` for text in a flow of a pipeline.
    """
    if not isinstance(kind, str | DataType):
        raise type_error(argument, kind, "a type as a string, such as 'double', or a DataType")
    try:
        parsed = DataType.fromDDL(kind) if isinstance(kind, str) else kind
        # Raises for a type that Arrow cannot transfer from Python to Spark.
        to_arrow_type(parsed, timezone="UTC")
    except AnalysisException as error:
        if is_in_flow(error):
            raise value_error("PIPELINE_UNSUPPORTED", argument=argument, value=repr(kind)) from None
        if not isinstance(error, ParseException):
            raise
        raise _bad_schema(argument, kind, first_line(error)) from None
    except PySparkTypeError as error:
        raise _bad_schema(argument, kind, first_line(error)) from None
    return parsed


def _bad_schema(argument: str, schema: str | DataType, why: str) -> Exception:
    schema_text = schema if isinstance(schema, str) else schema.simpleString()
    return value_error("BAD_SCHEMA", argument=argument, value=repr(schema_text), why=why)


def call_function(calls: DataFrame, spec: WindowSpec, function: Callable[..., Any]) -> DataFrame:
    """Return a DataFrame with the results of a function.

    Parameters
    ----------
    calls : DataFrame
        The output of the window operator, a row for each row of a window that fires.
    spec : WindowSpec
        The spec of the window operator.
    function : callable
        The user function.
    """
    assert spec.function is not None
    outputs = spec.function.outputs or {}
    # A function that returns lifetimes replaces those of the policy.
    own = tuple(name for name in spec.own_columns if name not in spec.function.schema.names)
    run = Calls(
        name=name_of(function),
        function=function,
        takes_context=check_function("fn", function),
        in_pandas=spec.function.form == "pandas",
        own_columns=own,
        side_output_tags=spec.side_output_tags,
        result_schema=_in_arrow(spec.function.schema),
        outputs={name: _in_arrow(schema) for name, schema in outputs.items()},
    )
    keys = column_of(CALL_KEY_PREFIX)
    results = StructType([keys, *map(column_of, own), *spec.function.schema.fields])
    if spec.side_output_tags or outputs:
        of_outputs = [column_of(name) for name in own if name in ("window", "window_id")]
        columns = [
            StructField("tag", StringType()),
            StructField("results", results),
            *map(column_of, spec.side_output_tags),
        ]
        for name, schema in outputs.items():
            kind = StructType([keys, *of_outputs, *schema.fields])
            columns.append(StructField(name, kind))
        results = StructType(columns)
    if not spec.function.keeps_state:
        return _bridge.map_in_arrow(calls, run.run, results)
    packed = _call_with_state(calls, run, spec, spec.function)
    return _bridge.map_in_arrow(packed, unpack, results)


def _call_with_state(calls: DataFrame, run: Calls, spec: WindowSpec, function: Apply) -> DataFrame:
    """Return a DataFrame with the packed results of a function with state."""
    stateful = StatefulCalls(
        calls=run,
        window_state=None if function.window_state is None else _in_arrow(function.window_state),
        key_state=None if function.key_state is None else _in_arrow(function.key_state),
        has_bounds=not isinstance(spec.window, Global | Count),
    )
    groups = [column_of(group_column(i)) for i in range(len(spec.keys))]
    groups = groups or [StructField(group_column(0), IntegerType())]
    schema = StructType([*groups, *PACKED])
    packed = _bridge.map_in_arrow(calls, stateful.pack, schema)
    names = [field.name for field in groups]
    if may_be_streaming(calls):
        processor = Processor(stateful)
        return _bridge.transform_with_state(packed, processor, names, schema.names, RESULT)

    # PySpark would count the argument self of a bound method.
    def run_static(table: pa.Table) -> pa.Table:
        return stateful.in_memory(table)

    return packed.groupBy(*names).applyInArrow(run_static, RESULT)


def _in_arrow(schema: StructType) -> pa.Schema:
    return to_arrow_schema(schema, timezone="UTC")
