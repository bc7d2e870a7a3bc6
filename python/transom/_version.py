"""The version, written by sbt from build.sbt: change it there, then run ``make build``."""

__version__ = "0.1.0"
