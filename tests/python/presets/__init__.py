"""Presets: their defaults and limits, and the queries without a preset that they stand for."""
