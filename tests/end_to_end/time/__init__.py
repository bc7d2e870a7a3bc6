"""Time policies over real queries."""
