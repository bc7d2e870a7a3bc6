"""Disturb many queries on a cluster, and print a table.

``python -m tests.cluster --case hopping,native-shuffled`` disturbs some queries.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.runs import Case
from tests.cluster.standalone import Standalone
from tests.cluster.sweep import Disturber, Report
from tests.cluster.undisturbed import undisturbed
from tests.end_to_end.restarts.crashes.kinds import KINDS

# One for each kind of state, of policies and of side outputs.
_KINDS = (
    *("hopping", "sessions", "early", "evictor", "functions", "scan", "udaf", "lifetimes"),
    *("chain", "several", "late-rows", "policy", "policy-dead-letters", "policy-partitions"),
    *("policy-substreams", "policy-idle", "policy-top", "stamped", "native"),
)
CASES = [Case(kind, is_shuffled) for kind in _KINDS for is_shuffled in (False, True)]


def table(reports: Sequence[Report]) -> str:
    """The table in Markdown, with a row for each case."""
    lines = [
        "| query | state | a shuffle below | disturbed runs | identical | Spark's own |",
        "|---|---|---|---|---|---|",
    ]
    for report in reports:
        kind = KINDS[report.case.kind]
        shuffled = "yes" if report.case.is_shuffled else "no"
        cells = [report.case.kind, kind.layout, shuffled, str(report.tried), str(report.identical)]
        lines.append("| " + " | ".join([*cells, str(report.of_spark or "")]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Disturb the cases on the command line, or all."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="", help="cases, such as hopping,hopping-shuffled")
    parser.add_argument("--halts", type=int, default=2, help="runs with killed executors")
    arguments = parser.parse_args()
    cases = [Case.parse(text) for text in arguments.case.split(",")] if arguments.case else CASES
    folder = Path(tempfile.mkdtemp())
    try:
        with Standalone(folder / "machines") as cluster:
            cluster.add_workers(2)
            disturber = Disturber(cluster, undisturbed(cases, folder / "undisturbed"), folder)
            try:
                # In this order, because a session with other settings starts slowly.
                for case in cases:
                    for seed in range(arguments.halts):
                        disturber.disturb(case, "halt", seed)
                    disturber.disturb(case, "lose")
                    disturber.replace_worker(case)
                    _tell(disturber.reports[case])
                for case in cases:
                    disturber.disturb(case, "stall")
                    _tell(disturber.reports[case])
                for case in cases:
                    disturber.kill_driver(case)
                    _tell(disturber.reports[case])
            finally:
                disturber.stop()
        reports = list(disturber.reports.values())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(reports))
    for report in reports:
        for difference in report.different:
            print(f"{report.case}: {difference}", file=sys.stderr)
    sys.exit(any(report.different for report in reports))


def _tell(report: Report) -> None:
    numbers = f"{report.tried} runs, {report.identical} identical, {report.of_spark} Spark's own"
    print(f"{report.case}: {numbers}", *report.different, sep="\n  ", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
