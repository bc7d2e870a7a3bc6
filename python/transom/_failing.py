"""Errors of functions of the user's, in Spark's Python workers."""

import traceback

from transom._errors import runtime_error


def failed(function: str, where: str, error: Exception) -> Exception:
    """What is raised in place of an error of a function, which becomes its cause."""
    problem = f"{type(error).__name__}: {error}"
    raised = runtime_error("FUNCTION_FAILED", function=function, where=where, problem=problem)
    # Spark's workers tell no causes, but they do tell notes.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    raised.add_note("".join(traceback.format_exception(type(error), error, frames)))
    return raised


def mismatch(function: str, where: str, problem: object) -> Exception:
    """What is raised if a function returns something else than it is said to."""
    return runtime_error("FUNCTION_SCHEMA", function=function, where=where, problem=problem)
