"""The spec of stamped rows."""

from dataclasses import dataclass

from transom._base.columns import Col
from transom.spec.time_policies import TimePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class StampSpec:
    """Everything that `Stream.stamped` needs to know: the time policy and the order of rows."""

    time: TimePolicy
    order: tuple[Col, ...] = ()
