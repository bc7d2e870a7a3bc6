"""The page on Kafka, over a broker on this machine."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from benchmarks.kafka.broker import broker
from benchmarks.kafka.topics import make_topics
from tests.end_to_end.documents.pages import check_in_session
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.kafka import add_connector

PAGE = Path(__file__).parents[3] / "docs/how-to/running/kafka-to-parquet.md"


@pytest.mark.skipif(not LONG, reason="needs the connector: run by make check-long")
def test_explain_names_the_option_for_large_polls(spark: SparkSession) -> None:
    add_connector(spark)
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "localhost:9")
    reader = reader.option("subscribe", "departures")

    def explained(records: DataFrame) -> str:
        hours = transom.stream(records, time=transom.EventTime("timestamp", delay="10 minutes"))
        return transom.explain(hours.window(transom.Tumbling("1 hour")).agg(F.count("*")))

    hint = "reads       500 records a call; option('kafka.max.poll.records', 20000) reads faster"
    assert hint in explained(reader.load())
    assert "kafka" not in explained(reader.option("kafka.max.poll.records", "20000").load())


@pytest.mark.skipif(not LONG, reason="starts a broker: run by make check-long")
def test_the_code_on_the_page_prints_what_the_page_says(
    spark: SparkSession, tmp_path: Path
) -> None:
    add_connector(spark)
    with broker(tmp_path) as brokers:
        make_topics(spark, brokers, ["departures"], partitions=2)
        check_in_session(PAGE, {"spark": spark, "brokers": brokers})
