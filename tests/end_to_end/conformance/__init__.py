"""Runs test vectors through real queries."""
