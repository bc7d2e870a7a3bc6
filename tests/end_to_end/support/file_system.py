"""A local file system for the rows of tests that starts no processes."""

from pathlib import Path

from pyspark.sql import SparkSession

JAR = Path(__file__).parents[3] / "build" / "crashing.jar"


def with_quick_files(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Let a session use the quick file system, from the jar that ``make test-e2e`` builds.

    Hadoop's own starts a process for each file that a sink writes, which sets its permissions. The
    checkpoint has the file system that `transom.configure` sets. Tests whose queries run in a
    separate process keep Hadoop's, such as `test_setup`, `test_crash` and `test_retries`.
    """
    return builder.config("spark.driver.extraClassPath", str(JAR)).config(
        "spark.hadoop.fs.file.impl", "transom.crashing.QuickLocalFileSystem"
    )
