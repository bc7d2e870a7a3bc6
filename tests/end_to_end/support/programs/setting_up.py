"""Sessions made in each way that users have. `test_setup` runs each in a separate JVM.

``python setting_up.py live|cluster|driver-only|submitted|configured FOLDER`` prints a
line for each query with the right results.
"""

import json
import os
import re
import sys
import threading
from pathlib import Path

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom

STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    STORE: ROCKSDB,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def builder(master: str) -> SparkSession.Builder:
    """A builder with the settings of all sessions."""
    made = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        made = made.config(name, value)
    return made


def windows(rows: DataFrame) -> DataFrame:
    """Counts in windows of ten seconds."""
    clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
    windowed = transom.stream(rows, time=clock).window(transom.Tumbling(size="10 seconds"))
    return windowed.agg(F.count("*").alias("n"))


def query(spark: SparkSession, folder: Path, name: str) -> None:
    """Run a streaming and a static query, which need the jar on the executors."""
    source = folder / "rows"
    source.mkdir(exist_ok=True)
    lines = [json.dumps({"second": second}) for second in (1, 2, 30)]
    (source / "all.json").write_text("\n".join(lines))
    schema = "second long"
    static = windows(spark.read.schema(schema).json(str(source))).collect()
    assert sorted(row["n"] for row in static) == [1, 2]
    found: list[int] = []
    running = (
        windows(spark.readStream.schema(schema).json(str(source)))
        .writeStream.foreachBatch(lambda rows, _: found.extend(r["n"] for r in rows.collect()))
        .option("checkpointLocation", str(folder / name.replace(" ", "-")))
        .trigger(availableNow=True)
        .start()
    )
    assert running.awaitTermination(300)
    assert found == [2]
    print(f"ok {name}", flush=True)


def live(folder: Path) -> None:
    """Sessions without the jar, then with the jar, in one process."""
    spark = builder("local[2]").getOrCreate()
    assert transom.jar_path() not in str(spark.conf.get("spark.jars", ""))
    query(spark, folder, "live session without the jar")
    in_thread(spark.newSession(), folder, "thread of a live session")
    spark.stop()
    spark = transom.configure(builder("local[2]")).getOrCreate()
    query(spark, folder, "second session")
    in_thread(spark, folder, "thread of a second session")
    spark.stop()
    spark = builder("local[2]").getOrCreate()
    assert transom.jar_path() not in str(spark.conf.get("spark.jars", ""))
    query(spark, folder, "third session, without the jar")
    spark.stop()


def cluster(folder: Path) -> None:
    """Executors in separate processes. The first one runs before it is sent the jar."""
    spark = executors(folder).getOrCreate()
    query(spark, folder, "local-cluster without the jar")
    spark.stop()
    spark = transom.configure(executors(folder)).getOrCreate()
    query(spark, folder, "local-cluster")
    spark.stop()


def driver_only(folder: Path) -> None:
    """A jar on the class path of the driver alone, so the executor has none."""
    spark = executors(folder).config("spark.driver.extraClassPath", transom.jar_path())
    try:
        query(spark.getOrCreate(), folder, "jar of the driver")
    except Py4JJavaError as error:
        (text,) = set(re.findall(r"Lost task .*: (java\..*?) to field", str(error)))
        print(text)
    SparkSession.builder.getOrCreate().stop()


def submitted(folder: Path) -> None:
    """A script that spark-submit runs with the jar."""
    spark = SparkSession.builder.getOrCreate()
    assert str(spark.conf.get("spark.jars")).endswith(transom.jar_path())
    query(spark, folder, "spark-submit")
    spark.stop()


def configured(folder: Path) -> None:
    """A script whose Spark starts without the jar."""
    spark = transom.configure(SparkSession.builder).getOrCreate()
    query(spark, folder, "session without the jar")
    spark.stop()


def executors(folder: Path) -> SparkSession.Builder:
    """A builder with one executor, which writes its files to the folder."""
    # PySpark's folder is a complete Spark. Without the second setting, workers write files there.
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_WORKER_DIR"] = str(folder / "work")
    return builder("local-cluster[1,1,1024]")


def in_thread(spark: SparkSession, folder: Path, name: str) -> None:
    """Build and run the query in another Python thread."""
    thread = threading.Thread(target=query, args=(spark, folder, name))
    thread.start()
    thread.join()


if __name__ == "__main__":
    ways = {
        "live": live,
        "cluster": cluster,
        "driver-only": driver_only,
        "submitted": submitted,
        "configured": configured,
    }
    ways[sys.argv[1]](Path(sys.argv[2]))
