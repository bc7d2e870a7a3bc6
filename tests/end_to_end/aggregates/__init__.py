"""Aggregates over windows: Spark's own, those that ask for an order, and the user's."""
