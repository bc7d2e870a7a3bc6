"""The values that describe windows, the spec that combines them, and its form as a message."""

from transom.spec.stamp_spec import StampSpec
from transom.spec.window_spec import Apply, LateRows, Layout, RowsForm, WindowSpec

__all__ = ["Apply", "LateRows", "Layout", "RowsForm", "StampSpec", "WindowSpec"]
