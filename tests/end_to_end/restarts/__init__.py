"""Queries that stop, are killed or retry a task: results equal the results of one run."""
