"""Windows over rows with lifetimes."""
