"""Queries that crash at their durable writes, and what they give after they are started again."""
