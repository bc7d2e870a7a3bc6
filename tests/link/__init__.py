"""The link check: whether the jar fits the Spark it will run in."""
