"""The idle timeout of windows over a `TimePolicy`, as a part of the spec."""

from dataclasses import dataclass
from typing import Literal

from transom._base import checks
from transom._base.durations import Duration, positive

IdleRule = Literal["after_window_end", "greater_of", "last_row"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IdleTimeout:
    """When windows close although no row arrives. The step `idle_timeout` describes the rules."""

    after: Duration
    rule: IdleRule

    def __post_init__(self) -> None:
        object.__setattr__(self, "after", positive("after", self.after))
        checks.choice("rule", self.rule, ("after_window_end", "greater_of", "last_row"))
