"""The events of Nexmark, by its specification: people who join, auctions that open, bids.

The kind of an event, its time and the ids that it may refer to follow from its number. All other
values are random. As in the specification, events may refer to a few ids that do not exist yet.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.nexmark import texts

Longs: TypeAlias = npt.NDArray[np.int64]

BASE_TIME_MILLIS = 1_436_918_400_000  # 2015-07-15
PERSONS, AUCTIONS, BIDS = 1, 3, 46
ROUND = PERSONS + AUCTIONS + BIDS
FIRST_PERSON = FIRST_AUCTION = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
# One choice in this many is not a hot id.
HOT_SELLER_RATIO, HOT_BIDDER_RATIO, HOT_AUCTION_RATIO = 4, 4, 2
# One id in this many consecutive ids is hot.
HOT_SHARE = 100
ACTIVE_PEOPLE, AUCTIONS_IN_FLIGHT = 1_000, 100
# Number of ids that events may refer to before they exist.
LEAD = 10
PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100
SCATTER = 953


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A stream of events.

    Attributes
    ----------
    a_second : int
        Events for each second of event time.
    out_of_order : int
        Size of the groups in which events arrive out of order. With 1, all events are in order.
    seed : int
        Seed of the random values.
    """

    a_second: int = 10_000
    out_of_order: int = 1
    seed: int = 20_150_715

    def tables(self, first: int, end: int) -> dict[str, pa.Table]:
        """Return the events from number ``first`` until before ``end``, by kind, as they arrive."""
        arrived = np.arange(first, end, dtype=np.int64)
        group = arrived // self.out_of_order * self.out_of_order
        number = group + arrived * SCATTER % self.out_of_order
        kind = number % ROUND
        random = np.random.default_rng([self.seed, first])
        return {
            "persons": self._persons(number[kind < PERSONS], random),
            "auctions": self._auctions(
                number[(kind >= PERSONS) & (kind < PERSONS + AUCTIONS)], random
            ),
            "bids": self._bids(number[kind >= PERSONS + AUCTIONS], random),
        }

    def _persons(self, number: Longs, random: np.random.Generator) -> pa.Table:
        count = len(number)
        columns = {
            "name": texts.joined(
                texts.one_of(texts.FIRST_NAMES, count, random),
                texts.one_of(texts.LAST_NAMES, count, random),
                between=" ",
            ),
            "email_address": texts.joined(
                texts.words(count, 7, random),
                texts.joined(texts.words(count, 5, random), pa.scalar("com"), between="."),
                between="@",
            ),
            "credit_card": texts.credit_cards(count, random),
            "city": texts.one_of(texts.CITIES, count, random),
            "state": texts.one_of(texts.STATES, count, random),
        }
        used = sum((_bytes(column) for column in columns.values()), np.full(count, 8))
        return pa.table(
            {"id": FIRST_PERSON + _last_person(number)}
            | columns
            | {"date_time": _timestamps(self._millis(number))}
            | {"extra": texts.padding(used, PERSON_BYTES, random)}
        )

    def _auctions(self, number: Longs, random: np.random.Generator) -> pa.Table:
        count = len(number)
        name, description = texts.words(count, 20, random), texts.words(count, 100, random)
        initial, millis = _prices(count, random), self._millis(number)
        # On average, an auction lasts until new auctions have replaced all that are in flight.
        horizon = self._millis(number + AUCTIONS_IN_FLIGHT * ROUND // AUCTIONS) - millis
        lasting = 1 + random.integers(0, np.maximum(2 * horizon, 1))
        last = _last_person(number)
        hot = random.integers(0, HOT_SELLER_RATIO, count) > 0
        seller = np.where(hot, last // HOT_SHARE * HOT_SHARE, _active_person(last, random))
        used = 48 + _bytes(name) + _bytes(description)
        return pa.table(
            {
                "id": FIRST_AUCTION + _last_auction(number),
                "item_name": name,
                "description": description,
                "initial_bid": initial,
                "reserve": initial + _prices(count, random),
                "date_time": _timestamps(millis),
                "expires": _timestamps(millis + lasting),
                "seller": FIRST_PERSON + seller,
                "category": FIRST_CATEGORY + random.integers(0, CATEGORIES, count),
                "extra": texts.padding(used, AUCTION_BYTES, random),
            }
        )

    def _bids(self, number: Longs, random: np.random.Generator) -> pa.Table:
        count = len(number)
        last = _last_auction(number)
        in_flight = random.integers(np.maximum(last - AUCTIONS_IN_FLIGHT, 0), last + 1 + LEAD)
        hot = random.integers(0, HOT_AUCTION_RATIO, count) > 0
        auction = np.where(hot, last // HOT_SHARE * HOT_SHARE, in_flight)
        last = _last_person(number)
        hot = random.integers(0, HOT_BIDDER_RATIO, count) > 0
        # The hot bidder is the id after the hot seller.
        bidder = np.where(hot, last // HOT_SHARE * HOT_SHARE + 1, _active_person(last, random))
        return pa.table(
            {
                "auction": FIRST_AUCTION + auction,
                "bidder": FIRST_PERSON + bidder,
                "price": _prices(count, random),
                "date_time": _timestamps(self._millis(number)),
                "extra": texts.padding(np.full(count, 32), BID_BYTES, random),
            }
        )

    def _millis(self, number: Longs) -> Longs:
        return BASE_TIME_MILLIS + number * 1_000 // self.a_second


def _last_person(number: Longs) -> Longs:
    """Return the number of the newest person at an event, which may be the event itself."""
    return number // ROUND * PERSONS + np.minimum(number % ROUND, PERSONS - 1)


def _last_auction(number: Longs) -> Longs:
    """Return the number of the newest auction at an auction or bid, which may be the auction."""
    return number // ROUND * AUCTIONS + np.minimum(number % ROUND - PERSONS, AUCTIONS - 1)


def _active_person(last: Longs, random: np.random.Generator) -> Longs:
    active = np.minimum(last + 1, ACTIVE_PEOPLE)
    chosen: Longs = last + 1 - active + random.integers(0, active + LEAD)
    return chosen


def _prices(count: int, random: np.random.Generator) -> Longs:
    """Return prices in cents, up to 100,000,000. Each power of ten is equally frequent."""
    return np.rint(10 ** (6 * random.random(count)) * 100).astype(np.int64)


def _timestamps(millis: Longs) -> pa.Array:
    return pa.array(millis * 1_000, pa.timestamp("us", tz="UTC"))


def _bytes(column: pa.Array) -> Longs:
    lengths: Longs = pc.binary_length(column).to_numpy()
    return lengths
