"""Triggers, evictors, lateness, processing time and draining."""
