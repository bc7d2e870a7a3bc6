"""Spark's own JVM client, which has no transom."""
