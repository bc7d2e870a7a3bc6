"""The error for what Azure Stream Analytics does not allow."""

from pyspark.errors import PySparkValueError

from transom._base.errors import value_error


def limit_error(argument: str, value: object, *, why: str, fix: str) -> PySparkValueError:
    """Return the error ``TRANSOM_PRESET_LIMIT``."""
    system = "Azure Stream Analytics"
    return value_error(
        "PRESET_LIMIT", argument=argument, value=value, system=system, why=why, fix=fix
    )
