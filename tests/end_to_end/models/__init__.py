"""Models of windows, independent of the implementation, and generated streams for them."""
