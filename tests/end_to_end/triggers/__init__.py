"""When windows fire, which of their rows then count, and when they are forgotten."""
