"""Tests that start real queries."""
