"""Tables and sizes as Markdown."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    cells = [heads, ["---"] * len(heads), *rows]
    shown = (
        " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in cells
    )
    return "".join(f"| {row} |\n" for row in shown)


def megabytes(size: int | None) -> str:
    """Return a size as text, or an empty string for None."""
    if size is None:
        return ""
    if size < 100_000:
        return f"{size / 1e3:,.0f} KB"
    return f"{size / 1e6:,.1f} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"
