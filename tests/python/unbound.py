"""Builders whose DataFrame nobody looks at."""

from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

import transom
from transom.spec import WindowSpec
from transom.windowed import Windowed


def windowed(window: transom.Window, **settings: Any) -> Windowed:
    """One for windows, with what else its spec says."""
    return Windowed(cast("DataFrame", None), WindowSpec(window=window, **settings))


HOURS = windowed(transom.Tumbling(size="1 hour"), time=transom.EventTime("at"))
EVER = windowed(transom.Global())
ON_THE_CLOCK = windowed(transom.Tumbling(size="1 hour"), time=transom.ProcessingTime())
# Types written as text take a session.
NUMBER = StructType([StructField("n", LongType())])
