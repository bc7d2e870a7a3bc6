"""Errors, constants, and checks of arguments, which all other modules use."""
