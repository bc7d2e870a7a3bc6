"""Tables and sizes as text."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    cells = [heads, ["---"] * len(heads), *rows]
    shown = (
        " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in cells
    )
    return "".join(f"| {row} |\n" for row in shown)


def megabytes(size: int | None) -> str:
    """A size as a text; nothing if there is none."""
    return (
        "" if size is None else f"{size / 1e6:,.1f} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"
    )
