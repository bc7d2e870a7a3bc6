"""Size and layout of the state, and the memory of a query."""
