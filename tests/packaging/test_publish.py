"""The jar as a Maven artifact: the same jar, and a pom with Spark as the only dependency."""

import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT

pytestmark = pytest.mark.skipif(
    "TRANSOM_LONG" not in os.environ, reason="starts sbt: run by make check-long"
)
MAVEN = {"pom": "http://maven.apache.org/POM/4.0.0"}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact's folder in a separate Maven repository."""
    repository = tmp_path_factory.mktemp("repository")
    command = ["./sbt", f"-Dmaven.repo.local={repository}", "spark/publishM2"]
    subprocess.run(command, cwd=ROOT, check=True)
    (version,) = (repository / "io/transom/transom_2.13").iterdir()
    return version


def test_the_published_jar_is_the_one_in_the_wheel(published: Path, jar: Path) -> None:
    artifact = published / f"transom_2.13-{published.name}.jar"
    assert artifact.read_bytes() == jar.read_bytes()


def test_the_pom_needs_spark_as_provided_and_nothing_else(published: Path) -> None:
    pom = ET.parse(published / f"transom_2.13-{published.name}.pom")
    needed = {
        (dependency.findtext("pom:artifactId", "", MAVEN), scope)
        for dependency in pom.iterfind("pom:dependencies/pom:dependency", MAVEN)
        if (scope := dependency.findtext("pom:scope", "compile", MAVEN)) != "test"
    }
    assert needed == {("spark-sql_2.13", "provided")}
    assert pom.findtext("pom:licenses/pom:license/pom:name", "", MAVEN) == "Apache-2.0"


def test_the_sources_are_published_too(published: Path) -> None:
    assert (published / f"transom_2.13-{published.name}-sources.jar").is_file()
