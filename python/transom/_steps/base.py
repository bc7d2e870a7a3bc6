"""The state of a builder between its steps."""

from dataclasses import dataclass, replace
from typing import Any, Self

from pyspark.sql import DataFrame

from transom._base.errors import value_error
from transom.spec.window_spec import WindowSpec


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Steps:
    """Base class of `Windowed` and of the classes with its optional steps."""

    _df: DataFrame
    _spec: WindowSpec
    _steps: frozenset[str] = frozenset()

    def _with(self, step: str, **settings: Any) -> Self:
        if step in self._steps:
            raise value_error("SET_TWICE", argument=step)
        return replace(self, _spec=replace(self._spec, **settings), _steps=self._steps | {step})
