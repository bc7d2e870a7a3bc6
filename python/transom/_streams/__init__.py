"""The builder that `transom.stream` returns, and the checks of its columns."""
