"""What the state holds, how it stays small, and what memory a query takes."""
