"""Nexmark: queries over an online auction, by its specification, for transom and its peers."""
