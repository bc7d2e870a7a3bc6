"""Inspection of a query: its description and its metrics."""
