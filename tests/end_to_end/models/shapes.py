"""Generated windows, each with its expected results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from hypothesis import strategies as st
from pyspark.sql import Column
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models import model
from tests.end_to_end.models.streams import Stream

Unit = Literal["day", "week", "month", "year"]
UNITS: tuple[Unit, ...] = ("day", "week", "month", "year")


@dataclass(frozen=True)
class Shape:
    """A window with Spark's own window, if there is one, and the model of its results."""

    window: transom.Window
    native: Callable[[], Column] | None
    modelled: Callable[[Stream], tuple[list[model.Result], list[model.Row]]]


def text(ms: int) -> str:
    return f"{ms} milliseconds"


@st.composite
def hopping(draw: st.DrawFn) -> Shape:
    size = draw(st.sampled_from([7_000, 1_000, 250, 10_000, 90_000]))
    slide = draw(st.sampled_from([size // 5 * 2, size // 2, size // 7 + 1, size, size + 1_500]))
    slide = max(slide, size // 50)
    offset = draw(st.sampled_from([0, slide // 3, -(slide // 2), 1 - slide]))
    if slide == size:
        window: transom.Window = transom.Tumbling(size=text(size), offset=text(offset))
    else:
        window = transom.Hopping(size=text(size), slide=text(slide), offset=text(offset))
    shape = Shape(
        window,
        lambda: F.window("time", text(size), text(slide), text(offset)),
        lambda s: model.grid(s.for_model(), s.delay, model.hopping(size, slide, offset)),
    )
    return shape if slide <= size else replace(shape, native=None)


@st.composite
def closed_right(draw: st.DrawFn) -> Shape:
    size, slide = draw(st.sampled_from([(1_000, 1_000), (5_000, 5_000), (6_000, 4_000)]))
    window = transom.Hopping(size=text(size), slide=text(slide), closed="right")
    return Shape(
        window,
        None,
        lambda s: model.grid(s.for_model(), s.delay, model.hopping(size, slide), tick=1),
    )


@st.composite
def cumulating(draw: st.DrawFn) -> Shape:
    step = draw(st.sampled_from([500, 2_000, 10_000]))
    size = step * draw(st.sampled_from([1, 2, 5, 12]))
    window = transom.Cumulate(size=text(size), step=text(step))
    return Shape(
        window, None, lambda s: model.grid(s.for_model(), s.delay, model.cumulate(size, step))
    )


@st.composite
def sessions(draw: st.DrawFn) -> Shape:
    gap = draw(st.sampled_from([1, 500, 1_000, 5_000, 30_000]))
    inclusive = draw(st.booleans())
    return Shape(
        transom.Session(gap=text(gap), inclusive=inclusive),
        # In Spark's sessions a row exactly one gap away extends the session.
        (lambda: F.session_window("time", text(gap))) if inclusive else None,
        lambda s: model.sessions(s.for_model(), s.delay, gap, inclusive=inclusive),
    )


@st.composite
def calendars(draw: st.DrawFn) -> Shape:
    unit: Unit = draw(st.sampled_from(UNITS))
    zone = draw(st.sampled_from(["America/New_York", "Australia/Lord_Howe", "UTC"]))
    window = transom.Calendar(unit=unit, time_zone=zone)
    return Shape(
        window, None, lambda s: model.grid(s.for_model(), s.delay, model.calendar(unit, zone))
    )


SHAPES = {
    "hopping": hopping(),
    "ends included": closed_right(),
    "cumulate": cumulating(),
    "sessions": sessions(),
    "calendar": calendars(),
}
