"""Helpers of the tests: queries, clocks, generated streams, the model, test vectors."""
