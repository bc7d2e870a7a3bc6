"""The classes and source files that a query loads."""

from pathlib import Path
from zipfile import ZipFile

import pytest

import transom
from benchmarks.classes import classes, files

LOG = """\
java.lang.Object source: shared objects file
transom.engine.window.Grid source: file:/jars/transom.jar
transom.engine.window.Grid$ source: file:/jars/transom.jar
transom.engine.window.ZonedGrid source: file:/jars/transom.jar
transom.engine.window.package$ source: file:/jars/transom.jar
org.apache.spark.sql.transom.exec.RowObject$$anonfun$1 source: file:/jars/transom.jar
org.apache.spark.sql.Row source: file:/jars/spark-sql.jar
"""


def test_a_class_counts_once_with_its_companion_and_its_functions(tmp_path: Path) -> None:
    log = tmp_path / "driver"
    log.write_text(LOG)
    assert classes(log) == {
        "transom.engine.window.Grid",
        "transom.engine.window.ZonedGrid",
        "org.apache.spark.sql.transom.exec.RowObject",
    }


def test_classes_of_one_source_file_count_as_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    with ZipFile(tmp_path / "jars" / "transom.jar", "w") as jar:
        jar.writestr("transom/engine/window/Grid.class", b"\x00\x0aGrid.scala\x01")
        # Only an object.
        jar.writestr("transom/engine/window/Grids$.class", b"\x00\x0aGrid.scala\x01")
        jar.writestr("transom/spark/Grid.class", b"\x00\x0aGrid.scala\x01")
    monkeypatch.setattr(transom, "__file__", str(tmp_path / "__init__.py"))
    names = {"transom.engine.window.Grid", "transom.engine.window.Grids", "transom.spark.Grid"}
    assert files(names) == {"transom.engine.window/Grid.scala", "transom.spark/Grid.scala"}
