"""Windows of a client that has no JVM. Arguments: the server, and the version that it claims."""

import sys

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import transom
from transom._bridge import connect


def counted(rows: pa.Table) -> pa.Table:
    """Return the number of rows."""
    return pa.table({"n": [rows.num_rows]})


def main(server: str, version: str | None = None) -> None:
    """Print the results of windows, or the condition of the error."""
    if version is not None:
        setattr(connect, "__version__", version)  # noqa: B010, a name that is not exported
    spark = transom.configure(SparkSession.Builder().remote(server)).getOrCreate()
    rows = spark.createDataFrame([("a", 1), ("a", 2), ("b", 3)], "k string, v int")
    whole = transom.stream(rows).key_by("k").window(transom.Global())
    windows = whole.trigger(transom.EndOfStream())
    try:
        totals = windows.agg(F.sum("v").alias("v")).orderBy("k")
    except PySparkException as error:
        parameters = error.getMessageParameters() or {}
        print(error.getCondition(), parameters.get("missing", ""))
        return
    print(*((row["k"], row["v"]) for row in totals.collect()))
    counts = windows.apply(counted, "n long").orderBy("k")
    print(*((row["k"], row["n"]) for row in counts.collect()))


if __name__ == "__main__":
    main(*sys.argv[1:])
