"""Errors of user functions in Spark's Python workers."""

import traceback

from transom._base.errors import runtime_error


def function_failed(function: str, where: str, error: Exception) -> Exception:
    """Return the error for a function that has raised `error`, with its traceback as a note."""
    problem = f"{type(error).__name__}: {error}"
    raised = runtime_error("FUNCTION_FAILED", function=function, where=where, problem=problem)
    # Spark's workers send the notes of an exception to the driver, but not its cause.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    raised.add_note("".join(traceback.format_exception(type(error), error, frames)))
    return raised


def schema_mismatch(
    function: str,
    where: str,
    problem: object,
    fix: str = "Return exactly the columns and types of the schema",
) -> Exception:
    """Return the error for a function whose result does not match its schema."""
    parameters = {"function": function, "where": where, "problem": problem, "fix": fix}
    return runtime_error("FUNCTION_SCHEMA", **parameters)
