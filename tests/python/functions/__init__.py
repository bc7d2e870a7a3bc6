"""Functions in Python over rows and Arrow batches."""
