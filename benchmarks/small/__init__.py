"""Short benchmarks that check their results, for ``pytest benchmarks``."""
