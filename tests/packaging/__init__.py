"""The contents of the jar and the wheel, and their installation on a clean machine."""
