"""Short scripts to copy from, and the demo."""
