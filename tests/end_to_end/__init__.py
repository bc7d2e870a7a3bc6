"""Tests that start real queries."""

import os

# Spark's launcher passes these options to each JVM, also in the processes that tests start. The
# queries are short: the JVM's second compiler and a concurrent collector would not pay. The
# default size of the code cache without the second compiler is too small for all queries.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    " -XX:MetaspaceSize=512m -XX:+UseParallelGC",
)
