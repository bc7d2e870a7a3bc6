"""Queries on a Spark Standalone cluster whose executors are disturbed."""
