"""What the tests stand on: queries, clocks, generated streams, the model, test vectors."""
