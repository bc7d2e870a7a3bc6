"""What the pictures have in common: colors, bars and bare axes."""

from typing import Any

Span = tuple[int, int]

BLUE, GREY, RED, SAND = "#4269d0", "#9aa5b1", "#d7263d", "#f6efe0"
STYLE: dict[Any, Any] = {"svg.hashsalt": "transom", "svg.fonttype": "none", "font.size": 9}


def bar(plot: Any, level: float, span: Span, color: str | None) -> None:
    """Draw a window. Without a color it is hollow."""
    start, end = span
    plot.barh(level, end - start, left=start, height=0.7, color=color or "white", alpha=0.45)
    plot.barh(level, end - start, left=start, height=0.7, fill=False, edgecolor=color or GREY)


def bare(plot: Any) -> None:
    """Leave out all axes but the horizontal one."""
    plot.set_yticks([])
    plot.spines[["left", "top", "right"]].set_visible(False)
