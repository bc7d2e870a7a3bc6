"""Programs in Java and Scala with Spark's JVM client, which has no transom."""

import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.connect.servers import server_of_sql, without_remote

HERE = Path(__file__).parent
# Made by `make test-jvm-client`. Scala's compiler is among the jars.
JARS = HERE.parents[1] / "build" / "jvm-client" / "jars"
# Rows come as Arrow, whose classes in the client need the option.
JAVA = ("java", "--add-opens", "java.base/java.nio=ALL-UNNAMED", "--class-path", f"{JARS}/*")
SCALA = (*JAVA, "scala.tools.nsc.MainGenericRunner", "-usejavacp")


@pytest.mark.parametrize(
    "program",
    [(*JAVA, HERE / "Client.java"), (*SCALA, HERE / "client.scala")],
    ids=["Java", "Scala"],
)
def test_a_client_needs_no_transom(program: tuple[str | Path, ...], tmp_path: Path) -> None:
    assert JARS.is_dir(), "run this test by: make test-jvm-client"
    with server_of_sql(tmp_path) as url:
        done = subprocess.run(
            [*program, url], env=without_remote(), capture_output=True, text=True, check=False
        )
    assert done.stdout.splitlines() == [
        "[[JFK,05:00,1,-1], [JFK,06:00,2,41], [JFK,07:00,1,4], [LGA,05:00,1,-6]]",
        # The row of 07:30 moves the watermark of the stream to 07:20, so its hour stays open.
        "[[JFK,05:00,1,-1], [JFK,06:00,2,41], [LGA,05:00,1,-6]]",
        # 27 minutes lie between the first two flights of JFK, and more than 30 between the others.
        "[[JFK,06:41,2], [JFK,07:20,1], [JFK,08:00,1], [LGA,06:24,1]]",
    ], done.stderr
