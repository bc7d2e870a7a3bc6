"""Sweep many queries, two at a time, and print a table.

``python -m tests.end_to_end.restarts.crashes --kind hopping,native --sink files`` passes further
options on to each sweep.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.end_to_end.restarts.crashes.kinds import KINDS
from tests.end_to_end.restarts.crashes.reasons import REASONS
from tests.end_to_end.restarts.crashes.runs import ROOT, SINKS
from tests.end_to_end.restarts.crashes.sweep import Report

_AT_ONCE = 2


def report_of(kind: str, sink: str, options: list[str]) -> Report:
    """Sweep one query in its own process."""
    module = [sys.executable, "-m", "tests.end_to_end.restarts.crashes.sweep"]
    done = subprocess.run(
        [*module, kind, sink, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"the sweep of {kind} over {sink} failed: {done.stderr[-4000:]}")
    report = Report(**json.loads(done.stdout.splitlines()[-1]))
    print(f"{kind}, {sink}: {report.tried} runs, {report.identical} identical", file=sys.stderr)
    for difference in report.different:
        print(f"  {difference}", file=sys.stderr)
    return report


def table(reports: list[Report]) -> str:
    """Return the table in Markdown, with a row for each query."""
    names = {"files": "file sink", "batches": "`foreachBatch`"}
    lines = [
        "| query | state | sink | disturbed runs | identical | " + " | ".join(REASONS) + " |",
        "|---|---|---|---|---|" + "---|" * len(REASONS),
    ]
    for report in reports:
        counts = [str(report.reasons.get(reason, "")) for reason in REASONS]
        cells = [report.kind, KINDS[report.kind].layout, names[report.sink]]
        cells += [str(report.tried), str(report.identical), *counts]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Sweep the queries on the command line, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="", help=f"some of {', '.join(KINDS)}")
    parser.add_argument("--sink", default="", help=f"some of {', '.join(SINKS)}")
    arguments, options = parser.parse_known_args()
    kinds = arguments.kind.split(",") if arguments.kind else list(KINDS)
    sinks = arguments.sink.split(",") if arguments.sink else list(SINKS)
    queries = [(kind, sink) for kind in kinds for sink in sinks]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reports = list(pool.map(lambda query: report_of(query[0], query[1], options), queries))
    print(table(reports))
    sys.exit(any(report.different for report in reports))


if __name__ == "__main__":
    main()
