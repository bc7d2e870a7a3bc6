"""Queries and their input, described once for all peers."""
