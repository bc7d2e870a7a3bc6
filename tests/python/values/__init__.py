"""Values of windows, triggers and time policies."""
