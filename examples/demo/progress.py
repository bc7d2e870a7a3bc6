"""Shows the progress of the running queries."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from examples.demo.flights import NEW_YORK
from examples.demo.queries import FILES_PER_BATCH

# PySpark reads the progress of all batches from the JVM field by field, which costs processor time
# that the queries need.
_SECONDS_BETWEEN_LOOKS = 2
_SECONDS_BETWEEN_LINES = 15


def counted(query: StreamingQuery) -> Counter[str]:
    """Return the counts of a query's window operator over all batches, such as late rows."""
    totals: Counter[str] = Counter()
    for batch in query.recentProgress:
        for counts in batch.observedMetrics.values():
            rows = {name: n for name, n in counts.asDict().items() if "_rows_" in name}
            totals.update(rows)
    return totals


def watch(queries: Sequence[StreamingQuery], files: int, console: Console) -> None:
    """Show the queries until all of them have ended.

    Parameters
    ----------
    queries : sequence of StreamingQuery
        The queries that run.
    files : int
        The number of files that each query reads.
    console : Console
        The output: progress bars on a terminal, otherwise a line from time to time.

    Raises
    ------
    StreamingQueryException
        If one of the queries fails.
    """
    bars = Progress(
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files  {task.fields[state]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bars:
        shown = {q: bars.add_task(str(q.name), total=files, state="") for q in queries}
        next_lines = time.monotonic() + _SECONDS_BETWEEN_LINES
        while any(query.isActive for query in queries):
            is_due = console.is_terminal or time.monotonic() > next_lines
            for query, bar in shown.items() if is_due else ():
                read, state = _state(query, files)
                bars.update(bar, completed=read, state=state)
                if not console.is_terminal:
                    console.print(f"{query.name!s:<9} {read}/{files} files  {state}")
            if is_due:
                next_lines += _SECONDS_BETWEEN_LINES
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        for query, bar in shown.items():
            bars.update(bar, completed=files, state=_state(query, files)[1])
    for query in queries:
        query.awaitTermination()


def _state(query: StreamingQuery, files: int) -> tuple[int, str]:
    last = query.lastProgress
    if last is None:
        return 0, "starting"
    counts = counted(query)
    text = f"{counts['transom_rows_in']:>7,} flights, {counts['transom_rows_late']:>4,} late"
    watermark = last.eventTime.get("watermark", "")
    # The watermark is at 1970 before the first rows, and at the end of time after the drain.
    if watermark.startswith("201"):
        at = datetime.fromisoformat(watermark).astimezone(ZoneInfo(NEW_YORK))
        text += f", watermark {at:%d %b %H:%M}"
    read = (last.batchId + 1) * FILES_PER_BATCH[str(query.name)]
    return min(read, files), text
