"""Prints the results as tables."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from examples.demo.balance import Balance

_ROWS = 6
_NUMBERS = {"bigint", "int", "double"}


def print_results(spark: SparkSession, build: Path, console: Console) -> None:
    """Print a few rows of each result, with times of New York."""
    hours, sessions, days = (
        spark.read.parquet(str(build / query)) for query in ("hours", "sessions", "days")
    )
    _print(
        console,
        "Flights per origin in overlapping hours: the busiest",
        hours.orderBy(F.desc("flights"), "window", "origin").select(
            "origin",
            _at("window.start").alias("from"),
            _at("window.end", "HH:mm").alias("until"),
            "flights",
            F.round("delay", 1).alias("mean delay, min"),
        ),
    )
    _print(
        console,
        "Sessions of aircraft, which end with 8 hours without a departure: the longest",
        sessions.where("tailnum IS NOT NULL")
        .orderBy(F.desc(F.expr("window.end - window.start")), "tailnum")
        .select(
            "tailnum",
            _at("window.start").alias("from"),
            _at("window.end").alias("until"),
            "flights",
            "airports",
            "miles",
        ),
    )
    length = F.expr("CAST((unix_seconds(window.end) - unix_seconds(window.start)) / 3600 AS INT)")
    _print(
        console,
        "Days of New York's calendar: the changes of clocks, and the worst",
        days.withColumn("hours", length)
        .orderBy(F.col("hours") == 24, F.desc("delay"))
        .select(
            _at("window.start", "EEE d MMM").alias("day"),
            "hours",
            "flights",
            F.col("an_hour_late").alias("over an hour late"),
            F.round("delay", 1).alias("mean delay, min"),
            F.col("worst").alias("worst, min"),
        ),
    )
    late = spark.read.parquet(str(build / "late" / "hours")).where("reason = 'late'")
    _print(
        console,
        "Late flights: known when the watermark had passed the last of their hours",
        late.orderBy(F.desc(F.col("watermark") - F.col("time")), "row.id").select(
            "row.origin",
            "row.dest",
            _at("time").alias("departed"),
            _at("row.known", "d MMM HH:mm").alias("known"),
            _at("watermark", "d MMM HH:mm").alias("watermark"),
            F.size("missed_windows").alias("windows missed"),
        ),
    )


def print_balance(balances: Sequence[Balance], console: Console) -> None:
    """Print the counts of all flights, and whether batch queries have the same counts."""
    table = Table(title="All flights, checked against plain batch queries", title_justify="left")
    for column in ("query", "flights", "never left", "late", "in windows", "rows", "the same"):
        table.add_column(column, justify="left" if column == "query" else "right")
    for balance in balances:
        numbers = (
            balance.read,
            balance.never_left,
            balance.late,
            balance.in_windows,
            balance.windows,
        )
        same = "no" if balance.wrong else "yes"
        table.add_row(balance.query, *(f"{number:,}" for number in numbers), same)
    console.print(table)
    for balance in balances:
        for difference in balance.wrong:
            console.print(f"{balance.query} differs: {difference}")
        if not balance.wrong:
            console.print(
                f"{balance.query}: {balance.in_windows:,} in windows + {balance.late:,} late "
                f"+ {balance.never_left:,} that never left = {balance.read:,} flights"
            )


def _at(instant: str, form: str = "EEE d MMM HH:mm") -> Column:
    return F.date_format(instant, form)


def _print(console: Console, title: str, rows: DataFrame) -> None:
    table = Table(title=title, title_justify="left")
    for name, kind in rows.dtypes:
        table.add_column(name, justify="right" if kind in _NUMBERS else "left")
    for row in rows.limit(_ROWS).collect():
        table.add_row(*(_text(value) for value in row))
    console.print(table)


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)
