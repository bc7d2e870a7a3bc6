"""A time policy judges the end of a lifetime by this end, with results computed by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import transom
from tests.end_to_end.lifetimes.edges.test_edges import SCHEMA, results, row, sides, tagged
from tests.end_to_end.support.queries import run_stream

RULES: dict[str, Any] = {
    "accept": transom.Accept,
    "drop": transom.Drop,
    "adjust": transom.Adjust,
}


@pytest.mark.parametrize("rule", ["accept", "drop", "adjust"])
def test_a_policy_judges_an_end_by_its_end(spark: SparkSession, rule: str) -> None:
    policy = transom.TimePolicy("start", out_of_order=RULES[rule]("5 seconds"))
    batches = [
        [
            row(0, "a", "x", 0, None),
            row(1, "a", "y", 0, None),
            row(2, "b", "x", 20, None),
            # The watermark is 15. The start of this end is long past, and its end is not.
            row(3, "a", "x", 0, 16),
            row(4, "a", "y", 0, 12),
            row(5, "b", "x", 20, 40),
            row(6, "b", "y", 60, None),
        ]
    ]
    pipeline = tagged(transom.Snapshot(), time=policy, order="n")
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    of_a = [r for r in results(outcome.results) if r[0] == "a"]
    observed = outcome.observed()
    if rule == "drop":
        # Row 1 waits on, and its window is open.
        assert of_a == [("a", 0, 16, [0, 1])]
        assert sides(outcome.results) == {4: "out_of_order"}
        assert observed["transom_rows_end_edges"] == 2
    else:
        assert of_a == [("a", 0, 15, [0, 1]), ("a", 15, 16, [0])]
        # An end that a rule has moved to the watermark is in time.
        assert sides(outcome.results) == ({4: "late_partly"} if rule == "accept" else {})
        assert observed["transom_rows_end_edges"] == 3
        assert observed["transom_rows_adjusted"] == (rule == "adjust")


def test_ends_advance_the_watermark_of_a_policy(spark: SparkSession) -> None:
    pipeline = tagged(transom.Snapshot(), time=transom.TimePolicy("start"), order="n")
    batches = [[row(0, "a", "x", 0, None), row(1, "a", "x", 0, 30)]]
    outcome = run_stream(spark, pipeline, SCHEMA, batches)
    assert results(outcome.results) == [("a", 0, 30, [0])]
