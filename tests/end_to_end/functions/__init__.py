"""The user's functions over windows: their rows, errors, state and side outputs."""
