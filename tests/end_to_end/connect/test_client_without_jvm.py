"""A client without a JVM, and servers that lack something. Both are separate processes."""

import os
import subprocess
import venv
from pathlib import Path

import pyspark
import pytest

from tests.end_to_end.connect.servers import EXTENSION, connect_server, printed
from tests.end_to_end.support.programs import windowing_remotely

PLUGIN = ("spark.connect.extensions.relation.classes", "transom.spark.ConnectRelations")
PROGRAM = windowing_remotely.__file__

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="make check-long installs a client for it"
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with PySpark's client, and without py4j and Spark's jars."""
    folder = tmp_path_factory.mktemp("client")
    venv.create(folder, with_pip=True)
    client = f"pyspark-client=={pyspark.__version__}"
    subprocess.run([folder / "bin/pip", "install", "--quiet", client], check=True)
    return folder / "bin" / "python"


def test_windows_run_and_another_version_is_refused(python: Path, tmp_path: Path) -> None:
    with connect_server(tmp_path, EXTENSION, PLUGIN) as url:
        assert printed(python, PROGRAM, url) == ["('a', 3) ('b', 3)", "('a', 2) ('b', 1)"]
        assert printed(python, PROGRAM, url, "9.9.9") == ["TRANSOM_JAR_VERSION "]
        lines = printed(python, "-m", "transom", "doctor", "--connect", url)
        assert [line.split(",")[0] for line in lines] == [
            "server: ok",
            "state store: ok",
            "window: ok",
            "SQL: ok",
            "ready",
        ]


@pytest.mark.parametrize(("given", "missing"), [(PLUGIN, EXTENSION), (EXTENSION, PLUGIN)])
def test_the_error_names_what_the_server_lacks(
    python: Path, tmp_path: Path, given: tuple[str, str], missing: tuple[str, str]
) -> None:
    with connect_server(tmp_path, given) as url:
        assert printed(python, PROGRAM, url) == [f"TRANSOM_CONNECT_SERVER {missing[0]}"]
        lines = printed(python, "-m", "transom", "doctor", "--connect", url)
        assert f"was started without {missing[0]}" in lines[-1]
