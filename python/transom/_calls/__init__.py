"""Calls of user functions in Spark's Python workers, and the plans that make them."""
