"""Programs that tests start in a JVM of their own."""
