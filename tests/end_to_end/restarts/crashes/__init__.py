"""Queries that crash at their durable writes, and their output after they are started again."""
