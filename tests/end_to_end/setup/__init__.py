"""How a session gets the jar, what mistakes are told, and what a plan says."""
