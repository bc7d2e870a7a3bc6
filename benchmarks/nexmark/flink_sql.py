"""The queries as Flink SQL, over tables ``persons``, ``auctions`` and ``bids``.

Each table also has the columns ``at``, the event time, and ``clock``, the processing time.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A query, the columns that it reads, and the columns of its results.

    Attributes
    ----------
    reads : dict
        The columns of each table that the query reads, with their types. Times are numbers.
    columns : str
        Names and types of the result columns, for CREATE TABLE.
    select : str
        The query.
    """

    reads: dict[str, dict[str, str]]
    columns: str
    select: str


_BOUNDS = "`start` TIMESTAMP(3), `end` TIMESTAMP(3)"

# Joins the counts of each window with their maximum.
_COUNTS = """
    SELECT auction, window_start, window_end, COUNT(*) AS n
    FROM TABLE(HOP(TABLE bids, DESCRIPTOR(`at`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
"""
_HOT_ITEMS = f"""
    SELECT counts.auction, counts.window_start, counts.window_end, counts.n
    FROM ({_COUNTS}) AS counts
    JOIN (
        SELECT window_start, window_end, MAX(n) AS most
        FROM ({_COUNTS})
        GROUP BY window_start, window_end
    ) AS hottest
    ON counts.window_start = hottest.window_start AND counts.window_end = hottest.window_end
    AND counts.n = hottest.most
"""
# Among equal bids, the bid with the highest ids wins, as in the other peers.
_HIGHEST_BID = """
    SELECT window_start, window_end, price, auction, bidder,
        CAST(`at` AS TIMESTAMP(3)), extra
    FROM (
        SELECT *, ROW_NUMBER() OVER (
            PARTITION BY window_start, window_end
            ORDER BY price DESC, auction DESC, bidder DESC, date_time DESC, extra DESC
        ) AS place
        FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(`at`), INTERVAL '10' SECOND))
    )
    WHERE place = 1
"""
_NEW_USERS = """
    SELECT joined.id, joined.name, joined.window_start, joined.window_end
    FROM (
        SELECT id, name, window_start, window_end
        FROM TABLE(TUMBLE(TABLE persons, DESCRIPTOR(`at`), INTERVAL '10' SECOND))
        GROUP BY id, name, window_start, window_end
    ) AS joined
    JOIN (
        SELECT seller, window_start, window_end
        FROM TABLE(TUMBLE(TABLE auctions, DESCRIPTOR(`at`), INTERVAL '10' SECOND))
        GROUP BY seller, window_start, window_end
    ) AS opened
    ON joined.id = opened.seller
    AND joined.window_start = opened.window_start AND joined.window_end = opened.window_end
"""
_USER_SESSIONS = """
    SELECT bidder, window_start, window_end, COUNT(*)
    FROM TABLE(
        SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(`at`), INTERVAL '10' SECOND)
    )
    GROUP BY bidder, window_start, window_end
"""
_BY_THE_CLOCK = """
    SELECT bidder, window_start, window_end, COUNT(*)
    FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(clock), INTERVAL '10' SECOND))
    GROUP BY bidder, window_start, window_end
"""

_TIME = {"date_time": "BIGINT"}
_BIDDER = {"bids": {"bidder": "BIGINT"} | _TIME}
STATEMENTS = {
    "q5": Statement(
        reads={"bids": {"auction": "BIGINT"} | _TIME},
        columns=f"auction BIGINT, {_BOUNDS}, n BIGINT",
        select=_HOT_ITEMS,
    ),
    "q7": Statement(
        reads={
            "bids": {"auction": "BIGINT", "bidder": "BIGINT", "price": "BIGINT"}
            | _TIME
            | {"extra": "STRING"}
        },
        columns=(
            f"{_BOUNDS}, price BIGINT, auction BIGINT, bidder BIGINT, date_time TIMESTAMP(3), "
            "extra STRING"
        ),
        select=_HIGHEST_BID,
    ),
    "q8": Statement(
        reads={
            "persons": {"id": "BIGINT", "name": "STRING"} | _TIME,
            "auctions": {"seller": "BIGINT"} | _TIME,
        },
        columns=f"id BIGINT, name STRING, {_BOUNDS}",
        select=_NEW_USERS,
    ),
    "q11": Statement(
        reads=_BIDDER, columns=f"bidder BIGINT, {_BOUNDS}, n BIGINT", select=_USER_SESSIONS
    ),
    "q12": Statement(
        reads=_BIDDER, columns=f"bidder BIGINT, {_BOUNDS}, n BIGINT", select=_BY_THE_CLOCK
    ),
}
