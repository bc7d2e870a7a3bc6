"""The link check: compares the jar with the Spark that it runs in."""
