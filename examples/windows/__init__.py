"""Which windows there are: on a grid, sessions, counts, lifetimes, several at once."""
