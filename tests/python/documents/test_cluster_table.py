"""The table of queries that have been disturbed on a cluster follows the command that does it."""

import re
from pathlib import Path

from tests.cluster.cases import CASES, first_cells, other

PAGE = Path(__file__).parents[3] / "docs/concepts/guarantees.md"
(SECTION,) = re.findall(r"\n### On a cluster\n(.*?)(?=\n#|\Z)", PAGE.read_text("utf-8"), re.DOTALL)
# The first cells of a row, and the numbers of runs: all, identical and Spark's own.
ROWS = re.findall(r"^\| (.*) \| (\d+) \| (\d+) \| (\d*) ?\|$", SECTION, re.MULTILINE)
LISTED = {row[0]: [int(number or 0) for number in row[1:]] for row in ROWS}


def test_the_table_lists_the_queries_of_the_command_in_their_order() -> None:
    assert [*LISTED] == [first_cells(case) for case in CASES]


def test_each_run_of_the_table_is_identical_or_ended_by_spark() -> None:
    for case in CASES:
        tried, identical, of_spark = LISTED[first_cells(case)]
        assert tried == (2 if other(case) == "driver" else 1), case
        assert identical + of_spark == tried, case
