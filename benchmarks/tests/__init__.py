"""Tests of the tools that measure and report, which need no JVM."""
