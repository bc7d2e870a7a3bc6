"""Which rows are in which window, for every kind of window, key and clock."""
