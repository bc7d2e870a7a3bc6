"""Kafka on this machine, for benchmarks and tests."""
