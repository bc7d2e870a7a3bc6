"""Results and side outputs: writers, filters, ranks, and further windows over results."""
