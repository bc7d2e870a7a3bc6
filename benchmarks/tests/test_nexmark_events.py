"""The generator of Nexmark's events keeps to the specification."""

from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.nexmark.data import Input
from benchmarks.nexmark.events import BASE_TIME_MILLIS, Events

COUNT = 100_000
Longs: TypeAlias = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def events() -> dict[str, pa.Table]:
    return Events().tables(0, COUNT)


def numbers(column: pa.ChunkedArray) -> Longs:
    values: Longs = column.cast(pa.int64()).to_numpy()
    return values


def millis(table: pa.Table) -> Longs:
    return numbers(table["date_time"]) // 1_000 - BASE_TIME_MILLIS


def mean_bytes(table: pa.Table) -> float:
    """Numbers and times take eight bytes each."""
    fixed = sum(8 for column in table.columns if not pa.types.is_string(column.type))
    lengths = [pc.mean(pc.binary_length(c)).as_py() for c in table.columns if c.type == pa.string()]
    return float(fixed + sum(lengths))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(
    events: dict[str, pa.Table],
) -> None:
    assert {kind: table.num_rows * 50 for kind, table in events.items()} == {
        "persons": COUNT,
        "auctions": 3 * COUNT,
        "bids": 46 * COUNT,
    }


def test_ids_count_up(events: dict[str, pa.Table]) -> None:
    for kind in ("persons", "auctions"):
        ids = numbers(events[kind]["id"])
        assert (ids == 1_000 + np.arange(len(ids))).all()


def test_what_is_referred_to_exists_or_comes_soon(events: dict[str, pa.Table]) -> None:
    persons, auctions, bids = (millis(events[kind]) for kind in ("persons", "auctions", "bids"))

    def newest(times: Longs, at: Longs) -> Longs:
        return 999 + np.searchsorted(times, at, side="right")

    sellers = numbers(events["auctions"]["seller"])
    bidders, bid_on = numbers(events["bids"]["bidder"]), numbers(events["bids"]["auction"])
    assert min(sellers.min(), bidders.min(), bid_on.min()) >= 1_000
    assert (sellers <= newest(persons, auctions) + 10).all()
    assert (bidders <= newest(persons, bids) + 10).all()
    assert (bid_on <= newest(auctions, bids) + 10).all()
    # The last thousand people are active. The last hundred auctions are open.
    assert (sellers > newest(persons, auctions) - 1_001).all()
    assert (bid_on >= newest(auctions, bids) - 100 - 3).all()


@pytest.mark.parametrize(
    ("kind", "column", "place", "share"),
    [
        ("auctions", "seller", 0, 3 / 4),
        ("bids", "bidder", 1, 3 / 4),
        ("bids", "auction", 0, 1 / 2),
    ],
)
def test_one_of_a_hundred_is_hot(
    events: dict[str, pa.Table], kind: str, column: str, place: int, share: float
) -> None:
    hot = (numbers(events[kind][column]) - 1_000) % 100 == place
    # The others are sometimes the same by chance.
    assert hot.mean() == pytest.approx(share + (1 - share) / 100, abs=0.02)


def test_categories_are_equally_frequent(events: dict[str, pa.Table]) -> None:
    categories, counts = np.unique(numbers(events["auctions"]["category"]), return_counts=True)
    assert categories.tolist() == [10, 11, 12, 13, 14]
    assert counts / counts.sum() == pytest.approx([0.2] * 5, abs=0.02)


def test_each_power_of_ten_has_as_many_prices(events: dict[str, pa.Table]) -> None:
    prices = numbers(events["bids"]["price"])
    shares = np.histogram(prices, 10.0 ** np.arange(2, 9))[0] / len(prices)
    assert shares == pytest.approx([1 / 6] * 6, abs=0.01)
    assert (numbers(events["auctions"]["reserve"]) > events["auctions"]["initial_bid"]).all()


def test_events_come_one_by_one_by_their_rate(events: dict[str, pa.Table]) -> None:
    times = np.sort(np.concatenate([millis(table) for table in events.values()]))
    assert (times == np.arange(COUNT) // 10).all()


def test_auctions_last_until_a_hundred_others_are_open(events: dict[str, pa.Table]) -> None:
    auctions = events["auctions"]
    lasting = numbers(auctions["expires"]) // 1_000 - BASE_TIME_MILLIS - millis(auctions)
    # A hundred auctions are 1,667 events.
    assert lasting.min() >= 1
    assert lasting.mean() == pytest.approx(166.7, rel=0.02)


def test_events_are_as_long_as_they_should_be(events: dict[str, pa.Table]) -> None:
    lengths = {kind: mean_bytes(table) for kind, table in events.items()}
    # The specification does not count the time of a person.
    assert lengths == pytest.approx({"persons": 208, "auctions": 500, "bids": 100}, rel=0.03)


def test_groups_out_of_order_hold_the_same_events() -> None:
    scattered = millis(Events(out_of_order=1_000).tables(0, 10_000)["bids"])
    in_order = millis(Events().tables(0, 10_000)["bids"])
    assert (np.sort(scattered) == in_order).all()
    # Ten events a millisecond: none is behind another by more than its group is long.
    behind = np.maximum.accumulate(scattered) - scattered
    assert 50 < behind.max() < 100


def test_the_same_seed_makes_the_same_events(events: dict[str, pa.Table]) -> None:
    assert Events().tables(0, COUNT) == events
    assert Events(seed=1).tables(0, COUNT)["bids"] != events["bids"]


def test_files_hold_the_events_in_their_order(tmp_path: Path) -> None:
    folder = Input(events=1_000).make(tmp_path)
    files = sorted((folder / "bids").iterdir(), key=lambda file: file.stat().st_mtime)
    times = [numbers(pq.read_table(file)["date_time"]) for file in files]
    assert [len(part) for part in times] == [92] * 8 + [93, 92]
    for side_by_side in (times[::2], times[1::2]):
        assert (np.diff(np.concatenate(side_by_side)) >= 0).all()
    # The closing one.
    assert np.max(times[8]) - np.max(times[9]) == 60_000_000
    assert Input(events=1_000).make(tmp_path) == folder
