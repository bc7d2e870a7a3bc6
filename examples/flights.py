"""The session and the small stream of flights that all examples use.

In your own program, wrap your session builder in ``transom.configure``, and use your own stream
instead of `departures`.
"""

import os
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import transom

# The rows of each file: origin, tail number, departure, delay.
# In the night of 10 March 2013 New York's clocks went from 02:00 to 03:00.
_FILES = (
    """
    JFK,N505JB,2013-03-09 18:05:00,5
    LGA,N3KAAA,2013-03-09 18:20:00,0
    JFK,N721TW,2013-03-09 18:40:00,12
    EWR,N14228,2013-03-09 18:55:00,-3
    """,
    """
    EWR,N14228,2013-03-09 21:45:00,30
    JFK,N505JB,2013-03-09 21:30:00,25
    JFK,N721TW,2013-03-09 23:50:00,140
    """,
    """
    JFK,N618JB,2013-03-10 00:10:00,11
    JFK,N505JB,2013-03-10 01:20:00,0
    EWR,N14228,2013-03-10 03:15:00,-2
    """,
    """
    LGA,N3KAAA,2013-03-09 18:45:00,9
    JFK,N618JB,2013-03-10 09:00:00,0
    JFK,N721TW,2013-03-10 09:40:00,4
    """,
    """
    LGA,N3KAAA,2013-03-11 06:05:00,-1
    """,
)
_FIRST_MODIFIED = 1_700_000_000


def session(name: str) -> SparkSession:
    """Return a small session in New York's time zone."""
    builder = SparkSession.builder.master("local[2]").appName(name)
    settings = {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    return transom.configure(builder).getOrCreate()


def departures(spark: SparkSession) -> DataFrame:
    """Return a stream of five files. Each file is a micro-batch."""
    folder = Path(tempfile.mkdtemp(prefix="flights-"))
    for number, lines in enumerate(_FILES):
        path = folder / f"{number}.csv"
        path.write_text("\n".join(line.strip() for line in lines.strip().splitlines()) + "\n")
        # The file source reads files in the order of their modification times.
        os.utime(path, (_FIRST_MODIFIED + number,) * 2)
    return (
        spark.readStream.schema("origin string, tail string, departed timestamp, delay int")
        .option("maxFilesPerTrigger", 1)
        .csv(str(folder))
    )
