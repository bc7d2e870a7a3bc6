"""Python functions over windows."""
