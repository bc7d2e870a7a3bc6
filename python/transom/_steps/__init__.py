"""The optional steps between `Stream.window` and a result."""
