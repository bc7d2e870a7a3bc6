"""Jars of Kafka and of a format of its records, which Maven gets into build/kafka once."""

import subprocess
import tempfile
from pathlib import Path

POMS = Path(__file__).parent
JARS = POMS.parents[1] / "build" / "kafka"


def broker_jars() -> list[Path]:
    """Return the jars of the broker."""
    return _jars("broker")


def connector_jars() -> list[Path]:
    """Return the jars with which Spark reads and writes topics."""
    return _jars("connector")


def avro_jars() -> list[Path]:
    """Return the jar with which Spark reads and writes Avro. PySpark has what it needs."""
    return _jars("avro")


def flink_jars() -> list[Path]:
    """Return the jars with which Flink reads topics."""
    return _jars("flink")


def _jars(name: str) -> list[Path]:
    folder = JARS / name
    if not folder.exists():
        JARS.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=JARS))
        subprocess.run(
            [
                *("mvn", "--quiet", "--batch-mode", "--file", str(POMS / f"{name}.xml")),
                *("dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"),
            ],
            check=True,
        )
        unfinished.rename(folder)
    return sorted(folder.glob("*.jar"))
