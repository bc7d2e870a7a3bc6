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
from pathlib import Path

from tests.cluster.cases import CASES, actions, other, table
from tests.cluster.runs import Case
from tests.cluster.standalone import Standalone
from tests.cluster.sweep import Disturber, Report
from tests.cluster.undisturbed import undisturbed


def main() -> None:
    """Disturb the cases on the command line, or all."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", default="", help="cases, such as hopping,hopping-shuffled")
    arguments = parser.parse_args()
    cases = [Case.parse(text) for text in arguments.case.split(",")] if arguments.case else CASES
    folder = Path(tempfile.mkdtemp())
    try:
        with Standalone(folder / "machines") as cluster:
            cluster.add_workers(2)
            disturber = Disturber(cluster, folder)
            try:
                # In this order, because a session with other settings starts slowly.
                ordered = sorted(cases, key=lambda case: other(case) == "stall")
                for case, outcome in undisturbed(ordered, folder / "undisturbed"):
                    disturber.expect(case, outcome)
                    disturber.disturb(case, actions(case))
                    _tell(disturber.reports[case])
                for case in cases:
                    if other(case) == "driver":
                        disturber.kill_driver(case)
                        _tell(disturber.reports[case])
            finally:
                disturber.stop()
        reports = [disturber.reports[case] for case in cases]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(reports))
    for report in reports:
        for difference in report.different:
            print(f"{report.case}: {difference}", file=sys.stderr)
    sys.exit(any(report.different for report in reports))


def _tell(report: Report) -> None:
    numbers = f"{report.tried} runs, {report.identical} identical, {report.of_spark} Spark's own"
    now = time.strftime("%H:%M:%S")
    print(f"{now} {report.case}: {numbers}", *report.different, sep="\n  ", file=sys.stderr)


if __name__ == "__main__":
    main()
