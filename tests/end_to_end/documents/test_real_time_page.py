"""The page on Real-Time Mode, over a broker on this machine."""

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import transom
from benchmarks.kafka.broker import broker
from benchmarks.kafka.jars import connector_jars
from benchmarks.kafka.topics import make_topics
from tests.end_to_end.documents.pages import blocks, printed_by_program
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.kafka import add_connector

PAGE = Path(__file__).parents[3] / "docs/how-to/running/real-time.md"


@pytest.mark.skipif(not LONG, reason="starts a broker: run by make check-long")
@pytest.mark.skipif(pyspark.__version__.startswith("4.2."), reason="needs PySpark 4.3")
def test_the_program_of_the_page_prints_what_the_page_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_connector(spark)
    jars = ",".join([*map(str, connector_jars()), transom.jar_path()])
    with broker(tmp_path) as brokers:
        make_topics(spark, brokers, ["departures"], partitions=2)
        make_topics(spark, brokers, ["hours", "late"], partitions=1)
        monkeypatch.setenv("BROKERS", brokers)
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {jars} pyspark-shell")
        assert printed_by_program(PAGE, tmp_path) == [block.shown for block in blocks(PAGE)]
