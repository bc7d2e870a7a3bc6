"""What people read and copy works: pages, docstrings, examples and the demo."""
