"""The times of rows, and the rules of a time policy, as values."""
