"""A Python client that has no transom, in a process of its own."""

import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.end_to_end.connect.servers import server_of_sql, without_remote
from tests.end_to_end.support.programs import sql_remotely


def printed_without_transom(*arguments: str) -> list[str]:
    """The lines that the client prints.

    A path file adds transom to the environment of this Python, and `-S` leaves path files out. So
    the client finds the packages of the environment, except transom.
    """
    done = subprocess.run(
        [sys.executable, "-S", "-P", sql_remotely.__file__, *arguments],
        env=without_remote()
        | {"PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_python_client_needs_no_transom(tmp_path: Path) -> None:
    with server_of_sql(tmp_path) as url:
        lines = printed_without_transom(url)
    assert lines == [
        "no transom",
        (
            "('JFK', '05:00', 1, -1) ('JFK', '06:00', 2, 41) ('JFK', '07:00', 1, 4)"
            " ('LGA', '05:00', 1, -6)"
        ),
        # The row of 07:30 moves the watermark of the stream to 07:20, so its hour stays open.
        "('JFK', '05:00', 1, -1) ('JFK', '06:00', 2, 41) ('LGA', '05:00', 1, -6)",
        # 27 minutes lie between the first two flights of JFK, and more than 30 between the others.
        "('JFK', '06:41', 2) ('JFK', '07:20', 1) ('JFK', '08:00', 1) ('LGA', '06:24', 1)",
        "('05:00', 2) ('06:00', 2)",
        "TRANSOM_BAD_DURATION",
    ]
