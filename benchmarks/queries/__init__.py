"""Whole queries, timed through Spark's own windows and through transom."""
