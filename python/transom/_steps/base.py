"""The state of a builder between its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self
from warnings import warn

from pyspark.sql import DataFrame

from transom._base.call_text import call_text
from transom._base.columns import has_columns
from transom._base.errors import value_error, warning
from transom._base.expressions import Col
from transom._base.misplaced import Hint, Hinted, Hints
from transom._steps.hints import WINDOWED_HINTS, WINDOWED_IS_NO_DATAFRAME
from transom.spec.firing.rows_left import drain_leaves_rows
from transom.spec.times.time_policies import Clock
from transom.spec.window_spec import WindowSpec
from transom.spec.windows.lifetimes import Lifetime


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Steps(Hinted):
    """Base class of `Windowed` and of the classes with its optional steps."""

    _hints: ClassVar[Hints] = WINDOWED_HINTS
    _dataframe_hint: ClassVar[Hint] = WINDOWED_IS_NO_DATAFRAME

    _df: DataFrame
    _spec: WindowSpec
    # The calls of the steps as text, by the names of the steps.
    _steps: Mapping[str, str] = field(default_factory=dict)

    def _with(self, step: str, arguments: str = "", **settings: Any) -> Self:
        if step in self._steps:
            raise value_error("SET_TWICE", argument=step, call=self._steps[step])
        steps = {**self._steps, step: f"{step}({arguments})"}
        return replace(self, _spec=replace(self._spec, **settings), _steps=steps)

    def _is_streaming(self) -> bool:
        return has_columns(self._df) and bool(self._df.isStreaming)

    def _check_drained(self, levels: int) -> None:
        """Warn of windows that leave rows when the stream is drained, in the line of the user."""
        spec = self._spec
        left = drain_leaves_rows(spec.trigger, spec.window, spec.time)
        if spec.drain and left and self._is_streaming():
            warn(warning("ROWS_LEFT", reason=left.reason, instead=left.instead), stacklevel=levels)

    def __repr__(self) -> str:
        spec = self._spec
        stream = stream_text(spec.time, spec.lifetime, spec.order, spec.keys)
        return ".".join([stream, call_text("window", spec.window), *self._steps.values()])


def stream_text(
    time: Clock | None, lifetime: Lifetime | None, order: Sequence[Col], keys: Sequence[Col]
) -> str:
    """Return the calls that make a stream. The name of its DataFrame is unknown."""
    given = {"time": time, "lifetime": lifetime, "order": list(order) or None}
    arguments = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    stream = f"stream({', '.join(['df', *arguments])})"
    return f"{stream}.{call_text('key_by', *keys)}" if keys else stream
