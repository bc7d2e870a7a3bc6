"""Ways to set up a session, error messages, and the output of `explain`."""
