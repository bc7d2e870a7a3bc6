"""Functions of the user's over windows, with their errors, state and further outputs."""
