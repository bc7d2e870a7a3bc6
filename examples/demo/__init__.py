"""A year of flights from New York, replayed through windows."""
