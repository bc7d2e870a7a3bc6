"""Aggregates over windows: Spark's own, ordered aggregates, and the user's own."""
