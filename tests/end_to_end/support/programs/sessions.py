"""The session of a program of this folder."""

from pathlib import Path

from pyspark.sql import SparkSession

import transom


def small_session(folder: Path, master: str, **settings: str) -> SparkSession:
    """Start a session that writes only to a folder.

    Parameters
    ----------
    folder : Path
        The folder of Spark's own files.
    master : str
        The cores of the session, such as ``local[2]``.
    **settings : str
        Further settings of Spark, or other values for these.
    """
    usual = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.Builder().master(master).config(map={**usual, **settings})
    return transom.configure(builder).getOrCreate()
