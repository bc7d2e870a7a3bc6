"""Queries that stop, are killed or retry a task: results are those of one run."""
