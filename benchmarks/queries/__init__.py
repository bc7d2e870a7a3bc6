"""Whole queries and their input, described once, whoever runs them."""
