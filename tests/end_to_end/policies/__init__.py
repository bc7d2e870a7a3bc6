"""Queries under a time policy."""
