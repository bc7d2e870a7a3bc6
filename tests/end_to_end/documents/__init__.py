"""Pages, docstrings, examples and the demo: the code in them runs."""
