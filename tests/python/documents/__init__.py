"""The pages, docstrings and demo, as far as they can be tested without a JVM."""
