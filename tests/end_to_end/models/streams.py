"""Generated streams. Hypothesis chooses their shape, and a seed determines the rows."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from pyspark.sql import Row

from tests.end_to_end.models import model

LONG = bool(os.environ.get("TRANSOM_LONG"))

EPOCH = datetime(1970, 1, 1)
# Far from 1970, because Spark's watermark starts at 1970.
BASE = 1_704_067_200_000
MINUTE = 60_000
DAY = 86_400_000
_FEW = 4

# Keys of many types, by number.
KEYS: dict[str, Callable[[int], object]] = {
    "string": lambda n: f"k{n}",
    "bigint": lambda n: n - 5_000_000_000,
    "boolean": lambda n: n % 2 == 0,
    "double": lambda n: n / 8,
    "decimal(20,2)": lambda n: Decimal(n).scaleb(-2),
    "date": lambda n: date(1969, 12, 25) + timedelta(days=n),
    "timestamp": lambda n: EPOCH + timedelta(hours=n),
    "binary": lambda n: bytes([n]) * (n % 3),
    "array<int>": lambda n: [n, None][: n % 3],
    "struct<a:int,b:string>": lambda n: Row(a=None if n % 3 else n, b="x" * (n % 5)),
}

_T = TypeVar("_T")

Numbered = tuple[int, int | None, int | None, int | None]


def examples(few: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Settings of a generated test: few and fixed examples, or many with TRANSOM_LONG."""
    return settings(
        max_examples=20 * few if LONG else few,
        derandomize=not LONG,
        database=None,
        deadline=None,
        # Each attempt to shrink a failing stream runs a query.
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if LONG else [])],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@dataclass(frozen=True, repr=False)
class Stream:
    """Rows in batches.

    Attributes
    ----------
    batches : tuple
        Batches of rows as (id, number of the key, ms since 1970, value). All but the id may be
        None.
    delay : int
        Delay of the watermark in ms.
    kind : str
        The type of the key.
    """

    batches: tuple[tuple[Numbered, ...], ...]
    delay: int
    kind: str

    def __repr__(self) -> str:
        sizes = [len(batch) for batch in self.batches]
        return f"<stream of {sizes}, keys of {self.kind}, {self.delay} ms behind>"

    def _repr_pretty_(self, printer: Any, _: bool) -> None:  # noqa: FBT001, what Hypothesis calls
        printer.text(repr(self))

    @property
    def schema(self) -> str:
        return f"id long, key {self.kind}, time timestamp, value int"

    @property
    def rows(self) -> list[Numbered]:
        return [row for batch in self.batches for row in batch]

    @property
    def without_time(self) -> int:
        return sum(time is None for _, _, time, _ in self.rows)

    def for_spark(self) -> list[list[tuple[object, ...]]]:
        return [
            [(id_, self._key(key), instant(time), value) for id_, key, time, value in batch]
            for batch in self.batches
        ]

    def for_model(self) -> list[list[model.Row]]:
        """The rows for the model: keys as text, and 0 for a missing value."""
        return [
            [(repr(self._key(key)), time, value or 0) for _, key, time, value in batch]
            for batch in self.batches
        ]

    def _key(self, number: int | None) -> object:
        return None if number is None else KEYS[self.kind](number)


def cut(rows: Sequence[_T], chosen: random.Random) -> list[Sequence[_T]]:
    """Cut rows into batches at random places, into few batches without TRANSOM_LONG."""
    most = len(rows) if LONG else min(len(rows), _FEW)
    cuts = sorted(chosen.sample(range(1, len(rows)), chosen.randrange(most)))
    bounds = zip([0, *cuts], [*cuts, len(rows)], strict=True)
    return [rows[start:end] for start, end in bounds]


def restart(batches: Sequence[object], chosen: random.Random) -> int:
    """Choose the batch before which a query restarts. Half of the queries do not restart: 0."""
    return chosen.randrange(len(batches)) if chosen.random() < 0.5 else 0


def instant(ms: int | None) -> datetime | None:
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)


def millis(time: datetime) -> int:
    return (time - EPOCH) // timedelta(milliseconds=1)


@st.composite
def streams(draw: st.DrawFn, *, span: int = MINUTE, on_time: bool = False) -> Stream:
    """Streams of a few batches, some of them empty.

    Parameters
    ----------
    span : int
        The time that a batch covers in ms, not counting rows that are out of order.
    on_time : bool
        Whether the delay is so long that no row is behind the watermark.
    """
    seed = draw(st.integers(0, 2**32))
    # Hypothesis tries the first of several choices first.
    kind = draw(st.sampled_from(list(KEYS)))
    keys = draw(st.sampled_from([3, 40, 1]))
    sizes = draw(st.lists(st.sampled_from([40, 100, 1, 0]), min_size=2, max_size=4))
    disorder = draw(st.sampled_from([span // 3, 2 * span, 0]))
    delay = 20 * span if on_time else draw(st.sampled_from([span // 60, 0, span // 3]))
    step = draw(st.sampled_from([500, 1, 1_000]))
    random_ = random.Random(seed)

    def row(number: int, batch: int) -> Numbered:
        behind = random_.expovariate(1 / disorder) if disorder and random_.random() < 0.5 else 0
        behind = min(behind, 15 * span)
        time = BASE + int(batch * span + random_.uniform(0, span) - behind) // step * step
        return (
            number,
            None if random_.random() < 0.1 else random_.randrange(keys),
            None if random_.random() < 0.03 else time,
            None if random_.random() < 0.1 else random_.randrange(100),
        )

    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    batches = tuple(
        tuple(row(start + i, number) for i in range(size))
        for number, (start, size) in enumerate(zip(starts, sizes, strict=True))
    )
    return Stream(batches, delay, kind)
