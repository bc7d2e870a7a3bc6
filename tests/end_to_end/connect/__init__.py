"""Connect servers and pipelines in processes of their own."""
