"""Late rows, time policies and silent sources."""
