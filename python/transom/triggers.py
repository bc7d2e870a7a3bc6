"""Triggers: frozen values that say when a window gives its result."""

from dataclasses import dataclass


class Trigger:
    """Any of the triggers below; it has no use of its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AfterWatermark(Trigger):
    """When the watermark reaches the end of the window, as windows do by themselves.

    Examples
    --------
    >>> import transom
    >>> transom.AfterWatermark() == transom.AfterWatermark()
    True
    """


@dataclass(frozen=True, slots=True)
class EndOfStream(Trigger):
    """When the input ends: after a static DataFrame, or when a stream is drained.

    Examples
    --------
    >>> import transom
    >>> transom.EndOfStream()
    EndOfStream()
    """


@dataclass(frozen=True, slots=True)
class Never(Trigger):
    """Never: rows are taken in, and no result is given.

    Examples
    --------
    >>> import transom
    >>> transom.Never()
    Never()
    """
