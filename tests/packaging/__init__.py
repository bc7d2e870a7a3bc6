"""What is in the jar and the wheel, and whether they work on a clean machine."""
