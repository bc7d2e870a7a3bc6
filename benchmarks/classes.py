"""Counts the classes of transom on the way of a row: ``python -m benchmarks.classes``.

Each query runs as a stream on a local cluster, whose driver and executor are JVMs of their own. A
JVM logs the classes that it loads, so the logs name the classes that plan the query and those that
its tasks need. The executor's JVM inlines nothing, and compiles a method once it has been called
200 times. So its log of compiled methods names the classes that each row passes. A class counts
with its companion, its nested classes and its functions as one. The files are the source files of
these classes. ``python -m benchmarks.classes tumbling --list`` prints the names.

``PYTHONPATH=../before/python`` counts those of another working copy.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from benchmarks.markdown import table

LOADED = re.compile(r"^((?:transom|org\.apache\.spark\.sql\.transom)\.[\w.]+)\S* source:", re.M)

COMPILED = re.compile(r"\s((?:transom|org\.apache\.spark\.sql\.transom)\.[\w.]+)\S*::")

SOURCE = re.compile(rb"(\w+\.scala)")


def _windowed(
    window: transom.Window, time: str | transom.TimePolicy = "ts", **more: str
) -> Callable[[DataFrame], transom.Windowed]:
    def build(rows: DataFrame) -> transom.Windowed:
        return transom.stream(rows, time=time, **more).key_by("k").window(window)

    return build


_MINUTE = transom.Tumbling("1 minute")
QUERIES: dict[str, Callable[[DataFrame], transom.Windowed]] = {
    "tumbling": _windowed(_MINUTE),
    "session with a trigger": lambda rows: _windowed(transom.Session("1 minute"))(rows).trigger(
        transom.AfterWatermark(early=transom.AfterCount(2))
    ),
    "policy": _windowed(_MINUTE, transom.TimePolicy("ts", out_of_order=transom.Drop("1 minute"))),
    "substreams": _windowed(_MINUTE, transom.TimePolicy("ts", over=["k"])),
    "snapshot": lambda rows: (
        transom.stream(rows, time="ts", lifetime=transom.Lifetime(duration="10 seconds"))
        .key_by("k")
        .window(transom.Snapshot())
    ),
}


def classes(log: Path, line: re.Pattern[str] = LOADED) -> set[str]:
    """Return the classes of transom in a log of loaded classes, or of compiled methods."""
    found = line.findall(log.read_text())
    # Generated code and types of Spark's own packages do not count.
    return {name.rstrip(".") for name in found if not name.endswith("package")}


def files(names: set[str]) -> set[str]:
    """Return the source files of classes of the jar, with their packages."""
    jar = Path(transom.__file__).parent / "jars" / "transom.jar"
    with ZipFile(jar) as entries:
        found = set()
        for name in names:
            # The name of the file is the only text in a class that ends like this.
            source = next(
                text
                for end in (".class", "$.class")
                if (path := name.replace(".", "/") + end) in entries.namelist()
                if (text := SOURCE.search(entries.read(path)))
            )
            found.add(f"{name.rpartition('.')[0]}/{source[1].decode()}")
        return found


def run(name: str, folder: Path) -> None:
    """Run a query over two files of rows, in a driver and an executor with logs in `folder`."""
    log = "-Xlog:class+load:file={}:none"
    compiled = "-XX:TieredStopAtLevel=1 -XX:-Inline -Xlog:jit+compilation=debug:file={}:none"
    builder = (
        SparkSession.builder.master("local-cluster[1,2,1024]")
        .config("spark.driver.extraJavaOptions", log.format(folder / "driver"))
        .config(
            "spark.executor.extraJavaOptions",
            f"{log.format(folder / 'executor')} {compiled.format(folder / 'compiled')}",
        )
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
    )
    spark = transom.configure(builder).getOrCreate()
    start = datetime(2025, 1, 1, tzinfo=UTC)
    for batch in range(2):
        first = start + timedelta(seconds=600 * batch)
        times = [first + timedelta(milliseconds=50 * row) for row in range(2000)]
        made = spark.createDataFrame(
            [(n % 5, at) for n, at in enumerate(times)], "k int, ts timestamp"
        )
        made.coalesce(1).write.mode("append").parquet(str(folder / "rows"))
    rows = spark.readStream.schema("k int, ts timestamp").option("maxFilesPerTrigger", 1)
    counted = QUERIES[name](rows.parquet(str(folder / "rows")).withWatermark("ts", "0 seconds"))
    query = (
        counted.agg(F.count("*").alias("n"))
        .writeStream.format("memory")
        .queryName("results")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    if spark.table("results").isEmpty():
        raise SystemExit(f"{name}: no window has fired, so not all classes were needed")
    spark.stop()


def main() -> None:
    """Count the classes of each query, or list those of one."""
    parser = argparse.ArgumentParser(prog="benchmarks.classes", description=__doc__)
    parser.add_argument("query", nargs="?", choices=QUERIES)
    parser.add_argument("--list", action="store_true", help="print the names of the classes")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(given.query, given.run)
        return
    counted = []
    for name in [given.query] if given.query else QUERIES:
        with TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.classes", name, "--run", folder]
            subprocess.run(command, check=True)
            plan, tasks = (classes(Path(folder) / jvm) for jvm in ("driver", "executor"))
            rows = classes(Path(folder) / "compiled", COMPILED)
        of_query = {"driver": plan, "executor": tasks, "each row": rows}
        counted.append([name, *(f"{len(o)} in {len(files(o))} files" for o in of_query.values())])
        if given.list:
            for where, names in of_query.items():
                print("\n".join([where, *sorted(names), ""]))
    print(table(["query", "driver", "executor", "each row"], counted))


if __name__ == "__main__":
    main()
