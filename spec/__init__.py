"""The message, constants and error texts that Python and the JVM share."""
