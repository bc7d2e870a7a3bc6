"""Programs that tests start in separate JVMs."""
