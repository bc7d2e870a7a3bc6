"""What docs/operations/sizing.md says about file managers of Spark."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.support.sessions import Reason, skip_in_connect

PACKAGE = "org.apache.spark.sql.execution.streaming.checkpointing"


@pytest.mark.parametrize(
    ("manager", "kept"),
    [
        ("FileContextBasedCheckpointFileManager", "second"),
        ("FileSystemBasedCheckpointFileManager", "first"),
    ],
)
def test_only_the_default_manager_replaces_a_local_file(
    spark: SparkSession, tmp_path: Path, manager: str, kept: str
) -> None:
    skip_in_connect(Reason.JVM)
    jvm: Any = spark._jvm
    file = jvm.org.apache.hadoop.fs.Path(f"file://{tmp_path}/1.changelog")
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    # The file system that PySpark uses without settings. Hive brings it, and it never replaces.
    conf.unset("fs.file.impl")
    conf.set("fs.file.impl.disable.cache", "true")
    replaces = True
    files = getattr(getattr(jvm, PACKAGE), manager)(file.getParent(), conf)
    for text in ("first", "second"):
        stream = files.createAtomic(file, replaces)
        stream.write(bytearray(text.encode()))
        stream.close()
    assert (tmp_path / "1.changelog").read_text() == kept
