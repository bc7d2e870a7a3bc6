"""Rows whose end a later row sets."""
