"""Draws the results as a picture."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from examples.demo.replay import LIVE

_GREY, _BLUE, _RED = "#9aa5b1", "#4269d0", "#d7263d"
_QUARTER_HOUR = 1 / 96  # of a day


def draw(spark: SparkSession, build: Path, path: Path) -> None:
    """Draw the flights and the late flights of each window.

    Parameters
    ----------
    spark : SparkSession
        A session in New York's time zone.
    build : Path
        The folder with the results and the late rows.
    path : Path
        The file of the picture.
    """
    days = _frame(spark.read.parquet(str(build / "days")).select("window.start", "flights"))
    hours = _live_hours(spark, build)
    figure = Figure(figsize=(11, 10), layout="constrained")
    year, *airports = figure.subplots(4, 1, height_ratios=[1.2, 1, 1, 1])

    year.bar(days["start"], days["flights"], width=1, align="edge", color=_GREY)
    live = _plain(LIVE)
    year.axvspan(live, live + timedelta(days=1), color=_RED, alpha=0.3, linewidth=0)
    year.set_title("Flights per day of New York's calendar; red: the day that arrived as if live")
    for plot, origin in zip(airports, ("EWR", "JFK", "LGA"), strict=True):
        own = hours[hours["origin"] == origin]
        bar = {"width": _QUARTER_HOUR, "align": "edge", "linewidth": 0}
        plot.bar(own["start"], own["flights"], color=_BLUE, label="in the window", **bar)
        plot.bar(
            own["start"], own["missed"], bottom=own["flights"], color=_RED, label="late", **bar
        )
        plot.set_title(f"{origin}: flights per hour, by the quarter of an hour when it starts")
        plot.set_xlim(_plain(LIVE), hours["start"].max())
    airports[0].legend(frameon=False, ncols=2)
    for plot in (year, *airports):
        plot.set_ylabel("flights")
        plot.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def _live_hours(spark: SparkSession, build: Path) -> Any:
    """Return the overlapping hours of the live day: their flights, and their late flights."""
    results = spark.read.parquet(str(build / "hours"))
    late = spark.read.parquet(str(build / "late" / "hours"))
    missed = late.select("row.origin", F.explode("missed_windows.start").alias("start"))
    both = results.select(
        "origin", "window.start", "flights", F.lit(0).alias("missed")
    ).unionByName(
        missed.select("origin", "start", F.lit(0).alias("flights"), F.lit(1).alias("missed"))
    )
    sums = both.groupBy("origin", "start").agg(
        F.sum("flights").alias("flights"), F.sum("missed").alias("missed")
    )
    return _frame(sums.where(F.col("start") >= F.lit(LIVE.to_pydatetime())))


def _frame(rows: DataFrame) -> Any:
    return rows.orderBy("start").toPandas()


def _plain(instant: Any) -> Any:
    return instant.tz_localize(None)
