"""The spec of stamped rows."""

from dataclasses import dataclass

from transom._base.expressions import Col
from transom.spec.times.time_policies import TimePolicy
from transom.spec.windows.lifetimes import Lifetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StampSpec:
    """What `Stream.stamped` needs to know: the time policy, lifetimes and the order of rows."""

    time: TimePolicy
    lifetime: Lifetime | None = None
    order: tuple[Col, ...] = ()
