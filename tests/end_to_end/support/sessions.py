"""The session that the tests run in, its settings, and the tests that need a classic one."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum

import pytest
from pyspark.sql import SparkSession

# Whether Spark compiles code for each query, or interprets expressions.
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Reason(Enum):
    """Why a test is skipped in a Connect session. `docs/connect.md` lists the reasons."""

    CLOCK = "It moves the clock of the JVM, so windows of the wall clock close without waiting."
    JVM = "It reads plans, logs or registries of Spark, or adds a jar, through the JVM."
    PROCESS = "It starts Spark in a process of its own, which has a classic session."
    NAMES = "It reads `progress.observedMetrics` by name. There the counts have no names."
    PY4J = "It changes the half of the package that calls the JVM through Py4J."


def is_connect() -> bool:
    """Whether the tests run in a Connect session."""
    return "SPARK_REMOTE" in os.environ


def skip_in_connect(reason: Reason) -> None:
    """Skip the running test in a Connect session."""
    if is_connect():
        pytest.skip(reason.value)


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Change settings of the session for a while."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in values}
    for name, wanted in values.items():
        spark.conf.set(name, wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
