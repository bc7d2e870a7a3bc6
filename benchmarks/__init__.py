"""Measurements: whole queries here, the engine alone in jmh."""
