"""The log of the driver, in a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.end_to_end.support.sessions import Reason, skip_in_connect


@contextmanager
def log_file(spark: SparkSession, logger: str, path: Path) -> Iterator[None]:
    """Write the records of a logger to a file: level and text."""
    skip_in_connect(Reason.JVM)
    log4j: Any = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    pattern = log4j.core.layout.PatternLayout.newBuilder().withPattern("%p %m%n").build()
    builder = log4j.core.appender.FileAppender.newBuilder()
    appender = builder.setName("rows").setLayout(pattern).withFileName(str(path)).build()
    appender.start()
    records = log4j.LogManager.getLogger(logger)
    records.addAppender(appender)
    records.setLevel(log4j.Level.WARN)
    try:
        yield
    finally:
        records.removeAppender(appender)
        appender.stop()
