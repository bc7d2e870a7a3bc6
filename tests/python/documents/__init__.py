"""Tests of pages, docstrings and the demo that need no JVM."""
