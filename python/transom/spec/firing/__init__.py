"""The triggers and evictors, as values."""
