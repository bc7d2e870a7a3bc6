"""Errors for names that `transom` does not have: what to write instead."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from transom._base.misplaced import Hint, misplaced_attribute

_BY_WALL_CLOCK = "with time=transom.ProcessingTime()"
# Names of Spark, Flink and Beam that are not similar to ours, by what to write instead.
_OF_OTHERS = {
    "AfterClock()": ("AfterProcessingTime", "ProcessingTimeTrigger"),
    "AfterCount(10)": ("AfterPane", "CountTrigger"),
    "AfterDelta(lambda old, new: ..., threshold=...)": ("DeltaTrigger",),
    "AfterWatermark()": ("EventTimeTrigger",),
    "EventTime(..., delay='10 minutes')": ("WatermarkStrategy", "withWatermark"),
    "Every('1 minute')": ("ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger"),
    "Hopping('1 hour', '5 minutes')": ("Hop", "SlidingEventTimeWindows", "SlidingWindows"),
    f"Hopping('1 hour', '5 minutes') {_BY_WALL_CLOCK}": ("SlidingProcessingTimeWindows",),
    "KeepLast(10)": ("CountEvictor",),
    "KeepNear(lambda old, last: ..., threshold=...)": ("DeltaEvictor",),
    "KeepRecent('1 minute')": ("TimeEvictor",),
    "Purging(...)": ("PurgingTrigger",),
    "Session('5 minutes')": ("EventTimeSessionWindows",),
    f"Session('5 minutes') {_BY_WALL_CLOCK}": ("ProcessingTimeSessionWindows",),
    "Tumbling('1 hour')": ("FixedWindows", "Tumble", "TumblingEventTimeWindows"),
    f"Tumbling('1 hour') {_BY_WALL_CLOCK}": ("TumblingProcessingTimeWindows",),
}
_OURS = {name: call for call, names in _OF_OTHERS.items() for name in names}


def missing_name(name: str, public: Sequence[str], steps: Mapping[str, type]) -> AttributeError:
    """Return the error for a name that the package does not have.

    It is ``TRANSOM_MISPLACED`` for a name of another library, for a step of a query, and for a
    name that is similar to one of the package.

    Parameters
    ----------
    name : str
        The name.
    public : sequence of str
        The names of the package.
    steps : mapping of type
        The classes whose methods are steps of a query, by the call that returns such an object.
    """
    hint = None if name.startswith("_") else _hint(name, public, steps)
    if hint is None:
        return AttributeError(f"module 'transom' has no attribute {name!r}", name=name)
    return misplaced_attribute("transom", name, hint)


def _hint(name: str, public: Sequence[str], steps: Mapping[str, type]) -> Hint | None:
    if name in _OURS:
        call = _OURS[name]
        return f"the name here is {call.partition('(')[0]}", f"transom.{call}"
    for start, builder in steps.items():
        if hasattr(builder, name):
            return f"{name}() is a step of a query", f"{start}.{name}(...)"
    by_lower = {each.lower(): each for each in public}
    # Other libraries have "Window" in the names of their windows.
    short = name.lower().replace("_", "").removesuffix("s").removesuffix("window")
    similar = get_close_matches(short, by_lower, n=1, cutoff=0.7)
    if not similar:
        return None
    ours = by_lower[similar[0]]
    return f"a similar name is {ours}", f"transom.{ours}"
