"""Benchmarks of transom, Spark's own operators and Flink, in turn, on the same files."""
