"""Queries find the jar, whichever way the session was made."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.programs import setting_up
from tests.end_to_end.support.sessions import Reason, skip_in_connect

SETTING_UP = Path(setting_up.__file__)


def run(*arguments: str | Path) -> str:
    return started(sys.executable, *arguments)


def started(*command: str | Path) -> str:
    skip_in_connect(Reason.PROCESS)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_jar_travels_by_spark_jars_not_on_the_drivers_class_path(spark: SparkSession) -> None:
    # A session that another test has asked for again shows the path as a URL.
    jars = [jar.removeprefix("file://") for jar in str(spark.conf.get("spark.jars")).split(",")]
    assert transom.jar_path() in jars
    class_path = str(spark.conf.get("spark.driver.extraClassPath"))
    assert transom.jar_path() not in class_path.split(":")


def test_the_session_keeps_state_in_rocksdb(spark: SparkSession) -> None:
    store = "spark.sql.streaming.stateStore"
    assert str(spark.conf.get(f"{store}.providerClass")).endswith("RocksDBStateStoreProvider")
    assert spark.conf.get(f"{store}.rocksdb.changelogCheckpointing.enabled") == "true"
    assert spark.conf.get(f"{store}.rocksdb.trackTotalNumberOfRows") == "false"


@pytest.mark.skipif(not LONG, reason="starts a JVM: run by make check-long")
def test_sessions_with_and_without_the_jar_second_ones_and_threads(tmp_path: Path) -> None:
    assert run(SETTING_UP, "live", tmp_path).splitlines() == [
        "ok live session without the jar",
        "ok thread of a live session",
        "ok second session",
        "ok thread of a second session",
        "ok third session, without the jar",
    ]


@pytest.mark.skipif(not LONG, reason="the executors of make test-cluster are sent the jar too")
def test_executors_are_sent_the_jar_also_if_they_run_already(tmp_path: Path) -> None:
    assert run(SETTING_UP, "cluster", tmp_path).splitlines() == [
        "ok local-cluster without the jar",
        "ok local-cluster",
    ]


@pytest.mark.skipif(not LONG, reason="tries a wrong setting: run by make check-long")
def test_a_jar_of_the_driver_alone_fails_with_the_text_on_the_page(tmp_path: Path) -> None:
    text = run(SETTING_UP, "driver-only", tmp_path).strip()
    page = Path(__file__).parents[3] / "docs/troubleshooting.md"
    assert f"\n{text} to field" in page.read_text()


def test_spark_submit_is_given_the_jar(tmp_path: Path) -> None:
    jar = run("-m", "transom", "jar").strip()
    assert submitted(tmp_path, "submitted", "--jars", jar) == "ok spark-submit\n"


@pytest.mark.skipif(not LONG, reason="make check-long submits a program without the jar")
def test_a_submitted_program_configures_a_session_without_the_jar(tmp_path: Path) -> None:
    assert submitted(tmp_path, "configured") == "ok session without the jar\n"


@pytest.mark.skipif(not LONG, reason="starts a JVM: run by make check-long")
def test_a_session_is_sent_the_jar_if_arguments_name_other_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (other,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    settings = " ".join(f"--conf {name}={value}" for name, value in setting_up.SETTINGS.items())
    arguments = f"--master local[2] --jars {other} {settings} pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    assert run(SETTING_UP, "configured", tmp_path) == "ok session without the jar\n"


def submitted(folder: Path, way: str, *arguments: str) -> str:
    settings = [f"--conf={name}={value}" for name, value in setting_up.SETTINGS.items()]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    return started(submit, "--master=local[2]", *arguments, *settings, SETTING_UP, way, folder)


def test_the_doctor_finds_all_well() -> None:
    *lines, last = run("-m", "transom", "doctor").splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "JDK",
        "PySpark",
        "pyarrow",
        "pandas",
        "protobuf",
        "worker Python",
        "jar",
        "state store",
        "window query",
        "SQL",
    ]
    assert all(": ok, " in line for line in lines)
    assert last == "ready"
    assert run("-m", "transom", "jar") == f"{transom.jar_path()}\n"
