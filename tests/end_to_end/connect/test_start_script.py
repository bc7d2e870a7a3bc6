"""The command of the documentation that starts a server with Spark's script."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.end_to_end.connect.servers import HOME, free_port, printed, started
from tests.end_to_end.support.programs import windowing_remotely

PAGE = Path(__file__).parents[3] / "docs" / "connect.md"
SCRIPT = "$SPARK_HOME/sbin/start-connect-server.sh"

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="make check-long starts servers"
)


def command_of_page() -> str:
    """The command of the page, or what the page gives for an installation without the script."""
    _, _, section = PAGE.read_text("utf-8").partition("## Start the server\n")
    blocks = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    command, replacement = blocks[0].strip(), blocks[1].strip()
    assert command.startswith(f"{SCRIPT} ")
    has_script = (HOME / "sbin" / "start-connect-server.sh").exists()
    return str(command if has_script else command.replace(SCRIPT, replacement))


def test_the_command_of_the_page_starts_a_server_that_runs_windows(tmp_path: Path) -> None:
    port = free_port()
    settings = {"spark.connect.grpc.binding.port": port, "spark.sql.shuffle.partitions": 1}
    more = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    with started(["bash", "-c", f"{command_of_page()} {more}"], tmp_path):
        lines = printed(Path(sys.executable), windowing_remotely.__file__, f"sc://localhost:{port}")
    assert lines == ["('a', 3) ('b', 3)", "('a', 2) ('b', 1)"]
