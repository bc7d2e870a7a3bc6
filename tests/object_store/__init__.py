"""A query whose checkpoint and results lie in an object store."""
