"""Where results, late rows and bad rows go, and what is done with them there."""
