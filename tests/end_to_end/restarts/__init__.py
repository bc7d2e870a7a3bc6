"""Queries that stop, are killed or try a task again, and go on as if they had not."""
