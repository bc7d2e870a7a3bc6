"""Replays a year of flights through windows, prints the results and checks them.

``python -m examples.demo``, from the root of the project. The exit code is 1 if a total differs
from the total of a batch query.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from rich.console import Console

import transom
from examples.demo.balance import balance
from examples.demo.flights import NEW_YORK, load
from examples.demo.picture import draw
from examples.demo.progress import counted, watch
from examples.demo.queries import QUERIES, start
from examples.demo.replay import write_files
from examples.demo.tables import print_balance, print_results

_NEXT = """
What to try next:
- Change a window in examples/demo/queries.py, and run make demo again.
- See results before the end of a window: .venv/bin/python -m examples.firing.early_and_late
- Write a query of your own: docs/index.md"""


def session() -> SparkSession:
    """Return a session with two cores, in New York's time zone."""
    builder = SparkSession.builder.master("local[2]").appName("transom demo")
    settings = {
        "spark.sql.session.timeZone": NEW_YORK,
        "spark.sql.shuffle.partitions": "2",
        # The demo adds up the counts of all batches.
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return transom.configure(builder).getOrCreate()


def main() -> int:
    """Run the demo and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/demo"), help="where results go")
    parser.add_argument("--since", default="2013-01-01", help="replay what became known since then")
    chosen = parser.parse_args()
    build: Path = chosen.build
    console = Console(width=None if sys.stdout.isatty() else 110)
    began = time.monotonic()

    shutil.rmtree(build, ignore_errors=True)
    console.print("1. Reading all flights of 2013 from New York, in the order they became known.")
    flights = load()
    flights = flights[flights["known"] >= pd.Timestamp(chosen.since, tz=NEW_YORK)]
    files = write_files(flights, build / "input")
    console.print(f"   {len(flights):,} flights in {files} files: a file for eight weeks, and from")
    console.print("   noon of 31 December on a file for each hour, as if live.")

    console.print("2. Starting Spark with three queries over these files:")
    for name, query in QUERIES.items():
        console.print(f"   {name}: {(query.__doc__ or '').splitlines()[0]}")
    spark = session()
    queries = [start(spark, name, build) for name in QUERIES]
    console.print("3. Replaying the year. A flight that comes after its hour has fired is late.")
    watch(queries, files, console)
    console.print("4. Counting the flights again with batch queries of Spark, to compare.")
    balances = [balance(spark, build, str(query.name), counted(query)) for query in queries]
    console.print("5. Drawing the results.")
    picture = build / "flights.png"
    draw(spark, build, picture)
    console.print()
    print_results(spark, build, console)
    print_balance(balances, console)
    spark.stop()

    console.print(f"\nAll rows: {build}/hours, sessions, days, late (Parquet)")
    console.print(f"Picture: {picture}")
    console.print(f"This took {time.monotonic() - began:.0f} seconds.")
    console.print(_NEXT)
    return 1 if any(balance.wrong for balance in balances) else 0


if __name__ == "__main__":
    sys.exit(main())
