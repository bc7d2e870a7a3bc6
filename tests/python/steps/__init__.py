"""The steps of a query before it has a session."""
