"""The steps that add columns and side outputs to a result."""

from typing import Self

from transom._base import checks
from transom._steps.base import Steps


class OutputSteps(Steps):
    """The steps `retract`, `with_pane`, `with_late_rows` and `with_dead_letters`."""

    __slots__ = ()

    def retract(self) -> Self:
        """Add a ``change`` column, and retract each result that a later firing replaces.

        The first result of a window has the change "+I". A later result comes as two rows: "-U"
        with the previous values, then "+U" with the new values. A firing that repeats the previous
        result emits nothing. When sessions merge, each result of the merged sessions is retracted
        with a row of its own.

        Returns
        -------
        Windowed
            A new builder that retracts.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `evictor`, `Purging` and ``Count(partial=True)``.
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("retract", retract=True)

    def with_pane(self) -> Self:
        """Add a ``pane`` column: the index of this firing within its window, and what caused it.

        The column is a struct with these fields:

        - ``index``: the number of earlier firings of the window. It is 0 for `Count` windows.
        - ``timing``: "early", "on_time" or "late", relative to the end of the window.
        - ``is_last``: whether the window is dropped with this firing.
        - ``number``: the number of the window within its key, counted from 0. Only `Count` windows
          have one, and not those with ``partial=True`` and a ``slide`` other than ``size``. It is
          null otherwise.
        - ``cause``: "watermark", "clock", "rows", "batch" or "drain".

        Returns
        -------
        Windowed
            A new builder whose results have this column.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_pane", pane=True)

    def with_late_rows(self, *, partly: bool = False) -> Self:
        """Emit late rows as a side output. Without this step late rows are only counted.

        A row is late if all of its windows are closed. With `Session` windows it must also be too
        far from each open session. The result becomes tagged rows, which `route` and `untag` split.
        The tag ``results`` has the columns of a result without this step. The tag ``late`` has
        these columns:

        - ``row``: the input row.
        - ``reason``: "late", or "late_session" for `Session` windows.
        - ``missed_windows``: the closed windows of the row. For sessions, the session that the row
          alone would form.
        - ``time``: the time of the row.
        - ``watermark``: the late watermark, by which the row was late.
        - ``operator``, ``query``: the name of the window operator and the id of the query.
        - ``at``: the wall clock of the micro-batch.

        Parameters
        ----------
        partly : bool
            Whether to emit rows that missed only some of their windows, with the reason
            "late_partly". Such rows also count in their open windows.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        checks.flag("partly", partly)
        return self._with("with_late_rows", late_rows="partly" if partly else "late")

    def with_dead_letters(self) -> Self:
        """Emit, as a side output, the rows that cannot be assigned to a window.

        Without this step such rows are only counted. They never end a query. The result becomes
        tagged rows, as after `with_late_rows`. The tag ``dead_letters`` has the columns of
        ``late``, and one of these reasons:

        - "no_time": the time is null.
        - "time_out_of_range": the time is outside of the years 1 to 9999.
        - "bad_gap": the gap of the row is null, not positive, or longer than 10,000,000 days.
        - "bad_windows": the windows of the row are null, or a window does not start before it ends.
          Windows outside of the years 1 to 9999 have this reason too.
        - "too_many_windows": the row has more than 10,000,000 windows.

        ``time`` is null for the first two reasons. ``missed_windows`` is empty. ``watermark`` is
        null before the first watermark.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_dead_letters", dead_letters=True)
