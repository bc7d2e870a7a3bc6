"""The windows, and the lifetimes of rows, as values."""
