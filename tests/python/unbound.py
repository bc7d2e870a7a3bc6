"""Builders without a DataFrame."""

from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

import transom
from transom.spec import WindowSpec
from transom.windowed import Windowed


def windowed(window: transom.Window, **settings: Any) -> Windowed:
    """A builder with these windows and settings."""
    return Windowed(cast("DataFrame", None), WindowSpec(window=window, **settings))


HOURS = windowed(transom.Tumbling(size="1 hour"), time=transom.EventTime("at"))
EVER = windowed(transom.Global())
ON_THE_CLOCK = windowed(transom.Tumbling(size="1 hour"), time=transom.ProcessingTime())
# Parsing a schema from text needs a session.
NUMBER = StructType([StructField("n", LongType())])
