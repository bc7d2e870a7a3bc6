"""Windows with each option that is a word, in a JVM whose locale is Turkish.

In Turkish, the lower case of I is a letter of its own, and so is the upper case of i.
"""

import json
from datetime import datetime, timedelta
from typing import get_args

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from transom.spec import Layout
from transom.spec.windows.calendar import Unit, Weekday

START = datetime(2024, 1, 1)
# Each form of the letter I, in both cases.
LETTERS = "I\u0130\u0131i"
RUN = {"friday", "quarter", "right", "reject", "windows", "pane", "top", "stamped", "keyed"}


def windows() -> dict[str, transom.Window]:
    """Return windows that have each word of an option."""
    weeks = {
        day: transom.Calendar("week", time_zone="UTC", first_day=day) for day in get_args(Weekday)
    }
    calendar = {unit: transom.Calendar(unit, time_zone="Asia/Tokyo") for unit in get_args(Unit)}
    return {
        **weeks,
        **calendar,
        "left": transom.Hopping("2 days", "1 day", closed="left"),
        "right": transom.Tumbling("1 DAY", closed="right"),
        "cumulate": transom.Cumulate("1 day", "6 HOURS"),
        "open": transom.Session("INTERVAL 1 DAY", late_start="open"),
        "reject": transom.Session("1 day", late_start="reject"),
        ">=": transom.Session("1 day", max_duration="2 days", max_check=">="),
        ">": transom.Session("1 day", max_duration="2 days", max_check=">"),
        "windows": transom.Windows(
            {"ID": transom.Tumbling("1 day"), "i": transom.Session("1 day")}
        ),
    }


def rows(spark: SparkSession) -> DataFrame:
    """Return rows whose times are in many weeks, months and years."""
    given = [(LETTERS[n % 4], START + timedelta(hours=7 * n * n), n) for n in range(40)]
    return spark.createDataFrame(given, "KIND string, time timestamp, id int").coalesce(1)


def queries(df: DataFrame) -> dict[str, DataFrame]:
    """Return queries that have each word of an option, under the words."""
    timed = transom.stream(df, time="time", order="id").key_by("KIND")
    counts = F.count("*").alias("n"), F.sort_array(F.collect_list("id")).alias("ids")
    days = timed.window(transom.Tumbling("10 days"))
    policy = transom.TimePolicy(
        "time",
        arrival="time",
        partition="KIND",
        early=transom.Drop("1 day"),
        late=transom.Adjust("1 day"),
        out_of_order=transom.Drop("1 HOUR"),
        advance=transom.Punctuated("id % 7 = 0", at="time"),
    )
    lived = transom.stream(df, time="time", lifetime=transom.Lifetime(duration="3 days"))
    swept = [transom.Snapshot(), transom.CountByStart(3)]
    return {
        **{name: timed.window(window).agg(*counts) for name, window in windows().items()},
        **{name: days.options(layout=name).agg(counts[0]) for name in get_args(Layout)},
        **{repr(window): lived.key_by("KIND").window(window).agg(*counts) for window in swept},
        "rolling": timed.window(transom.Rolling("1 day")).agg(*counts),
        "pane": days.trigger(transom.AfterCount(2)).with_pane().agg(*counts),
        "top": days.top(2, F.desc("id")),
        "stamped": transom.stream(df, time=policy, order="id").stamped(),
    }


def results(spark: SparkSession) -> dict[str, list[str]]:
    """Return the text that explains each query. With it, some queries have their rows as JSON."""
    found = {}
    for name, df in queries(rows(spark)).items():
        found[name] = [transom.explain(df)]
        if name in RUN:
            texts = df.select(F.to_json(F.struct("*"))).collect()
            found[name] += sorted(row[0] for row in texts)
    return found


def main() -> None:
    """Print the language of the JVM, and then the results."""
    turkish = "-Duser.language=tr -Duser.country=TR"
    builder = SparkSession.Builder().master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.extraJavaOptions": turkish,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = transom.configure(builder).getOrCreate()
    assert spark._jvm is not None
    print(spark._jvm.java.util.Locale.getDefault().toString())
    print(json.dumps(results(spark)))


if __name__ == "__main__":
    main()
