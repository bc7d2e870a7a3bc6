"""Tests of what the end-to-end tests stand on."""
