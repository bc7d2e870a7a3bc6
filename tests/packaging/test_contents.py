"""The jar contains only our classes, and the wheel contains the jar."""

import email
import zipfile
from pathlib import Path

import pytest

OUR_PACKAGES = ("transom/", "org/apache/spark/sql/transom/")


def entries(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        return [name for name in opened.namelist() if not name.endswith("/")]


def test_the_jar_is_under_one_megabyte(jar: Path) -> None:
    assert jar.stat().st_size < 1_000_000


def test_the_jar_holds_nothing_but_transom(jar: Path) -> None:
    foreign = {name for name in entries(jar) if not name.startswith(OUR_PACKAGES)}
    assert foreign == {"META-INF/MANIFEST.MF", "META-INF/LICENSE"}


@pytest.mark.parametrize(
    "name",
    [
        "transom/engine/window/TimeWindow.class",
        "transom/spark/PythonApi$.class",
        "transom/error-conditions.json",
    ],
)
def test_the_jar_holds_engine_and_spark_part(jar: Path, name: str) -> None:
    assert name in entries(jar)


def test_classes_keep_their_files_and_lines_for_stack_traces(jar: Path) -> None:
    with zipfile.ZipFile(jar) as opened:
        engine, spark = (
            opened.read(f"{name}.class")
            for name in ("transom/engine/slice/SliceLog", "transom/spark/PythonApi$")
        )
    for class_file in (engine, spark):
        assert b"SourceFile" in class_file
        assert b"LineNumberTable" in class_file


def test_the_wheel_holds_the_jar(wheel: Path, jar: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read("transom/jars/transom.jar") == jar.read_bytes()


def test_the_wheel_and_the_jar_hold_the_same_error_texts(wheel: Path, jar: Path) -> None:
    with zipfile.ZipFile(wheel) as in_wheel, zipfile.ZipFile(jar) as in_jar:
        texts = in_wheel.read("transom/error-conditions.json")
        assert texts == in_jar.read("transom/error-conditions.json")


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    assert "transom/py.typed" in entries(wheel)


def test_the_wheel_holds_nothing_but_transom(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in entries(wheel)}
    assert len(tops) == 2
    assert all(top == "transom" or top.endswith(".dist-info") for top in tops)


def test_the_wheel_needs_a_spark_it_was_tested_with(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(opened.read(name))
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(needed) == ["pyarrow>=18", "pyspark<4.4,>=4.2"]
    assert metadata["License-Expression"] == "Apache-2.0"
