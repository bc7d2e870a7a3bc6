"""The two languages in which a vector becomes a query: Python and SQL.

A runner builds the windows of a vector by steps of Python, and its aggregates are texts of SQL. The
language makes a query of both. In SQL this is one text over a view of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import transom
from tests.end_to_end.conformance.flink_vectors import Difference
from tests.end_to_end.sql.calls import Writer
from transom._base.columns import quoted
from transom._base.expressions import Col, Delta, text_of
from transom.spec.stamp_spec import StampSpec
from transom.spec.times.time_policies import TimePolicy


class Language(Protocol):
    """Makes the queries of a vector."""

    # Whether the language has functions over windows.
    has_functions: ClassVar[bool]

    def agg(self, windowed: transom.Windowed, **aggregates: str) -> DataFrame:
        """The results of windows. The aggregates are texts, by the names of their columns."""

    def top(
        self, windowed: transom.Windowed, ranks: int, field: str, *, descending: bool
    ) -> DataFrame:
        """The first rows of windows, ordered by a field."""

    def stamped(self, stream: transom.Stream) -> DataFrame:
        """The rows of a stream with their stamps."""


class Python:
    """Calls the methods of the builders."""

    has_functions: ClassVar[bool] = True

    def agg(self, windowed: transom.Windowed, **aggregates: str) -> DataFrame:
        """The results of windows."""
        return windowed.agg(**{name: F.expr(text) for name, text in aggregates.items()})

    def top(
        self, windowed: transom.Windowed, ranks: int, field: str, *, descending: bool
    ) -> DataFrame:
        """The first rows of windows."""
        return windowed.top(ranks, (F.desc if descending else F.asc)(field))

    def stamped(self, stream: transom.Stream) -> DataFrame:
        """The rows of a stream with their stamps."""
        return stream.stamped()


class Sql:
    """Writes a query for the spec of a builder."""

    has_functions: ClassVar[bool] = False

    def __init__(self) -> None:
        self._writer = Writer(_distance, is_full=False)

    def agg(self, windowed: transom.Windowed, **aggregates: str) -> DataFrame:
        """The results of windows."""
        values = [f"{text} AS {quoted(name)}" for name, text in aggregates.items()]
        return self._results(windowed, *values)

    def top(
        self, windowed: transom.Windowed, ranks: int, field: str, *, descending: bool
    ) -> DataFrame:
        """The first rows of windows."""
        names = _names(windowed._spec.keys)
        others = [quoted(name) for name in windowed._df.columns if name not in names]
        order = f"{quoted(field)} {'DESC' if descending else 'ASC'}"
        rows = f"transom_top({ranks}, struct({', '.join(others)})) WITHIN GROUP (ORDER BY {order})"
        return self._results(windowed, f"inline({rows})")

    def stamped(self, stream: transom.Stream) -> DataFrame:
        """The rows of a stream with their stamps."""
        assert isinstance(stream._time, TimePolicy)
        spec = StampSpec(time=stream._time, lifetime=stream._lifetime, order=stream._order)
        return _over(stream._df, f"SELECT * FROM {self._writer.stamped('{rows}', spec)}")

    def _results(self, windowed: transom.Windowed, *values: str) -> DataFrame:
        spec = windowed._spec
        selected = ", ".join([*map(text_of, spec.keys), *spec.own_columns, *values])
        groups = ", ".join([*_names(spec.keys), self._writer.window(spec)])
        query = f"SELECT {selected} FROM {{rows}} GROUP BY {groups}"
        if spec.side_output_tags:
            query = f"SELECT * FROM {self._writer.side_outputs(query, spec)}"
        return _over(windowed._df, query)


def _names(keys: Sequence[Col]) -> list[str]:
    """The names of keys in results. `GROUP BY` names an expression by its alias."""
    return [text_of(key).rpartition(" AS ")[2] for key in keys]


def _distance(function: Delta) -> str:
    assert isinstance(function, Difference)
    return function.sql


def _over(rows: DataFrame, query: str) -> DataFrame:
    """The results of a query in which ``{rows}`` stands for a view of the rows."""
    return rows.sparkSession.sql(query, rows=rows)


# The languages by their levels.
LANGUAGES: dict[str, Language] = {"query": Python(), "sql": Sql()}
