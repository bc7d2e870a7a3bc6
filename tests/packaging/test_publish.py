"""The jar as a Maven artifact: the same jar, and a pom with only Spark as dependencies."""

import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, long

pytestmark = long
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
    assert needed == {("spark-sql_2.13", "provided"), ("spark-connect_2.13", "provided")}


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("groupId", "io.transom"),
        ("artifactId", "transom_2.13"),
        ("packaging", "jar"),
        ("name", "transom"),
        ("description", "Event-time windows for PySpark: the part that runs on the JVM"),
        ("licenses/license/name", "Apache-2.0"),
        ("licenses/license/url", "https://www.apache.org/licenses/LICENSE-2.0.txt"),
        ("organization/name", "The transom authors"),
        ("developers/developer/name", "The transom authors"),
    ],
)
def test_the_pom_says_what_the_jar_is_and_whose(published: Path, element: str, text: str) -> None:
    pom = ET.parse(published / f"transom_2.13-{published.name}.pom")
    assert pom.findtext("pom:" + element.replace("/", "/pom:"), "", MAVEN) == text


def test_the_sources_are_published_too(published: Path) -> None:
    assert (published / f"transom_2.13-{published.name}-sources.jar").is_file()
