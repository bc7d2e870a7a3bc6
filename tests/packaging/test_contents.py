"""The jar contains only our classes, and the wheel and the sdist only the package."""

import email
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT

OUR_PACKAGES = ("transom/", "org/apache/spark/sql/transom/")


def package() -> set[str]:
    """The files of the Python package in git, and the jar, which the build puts there."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "python/transom"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in found.split() if (ROOT / name).exists()}
    return {name.removeprefix("python/") for name in names} | {"transom/jars/transom.jar"}


def entries(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        return [name for name in opened.namelist() if not name.endswith("/")]


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


def test_no_class_of_the_jar_opens_a_port_or_a_connection(jar: Path) -> None:
    network = rb"java/net/\w+|java/nio/channels/\w+|javax/net/[\w/]+|io/(?:netty|grpc)/[\w/]+"
    with zipfile.ZipFile(jar) as opened:
        classes = [opened.read(name) for name in opened.namelist() if name.endswith(".class")]
    used = {name for content in classes for name in re.findall(network, content)}
    names_of_files = {b"java/net/URI", b"java/net/URL"}
    # An exception, which ends a task.
    assert used == names_of_files | {b"java/nio/channels/ClosedByInterruptException"}


def test_the_wheel_holds_the_jar(wheel: Path, jar: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read("transom/jars/transom.jar") == jar.read_bytes()


def test_the_jar_holds_the_texts_of_the_errors(wheel: Path, jar: Path) -> None:
    with zipfile.ZipFile(wheel) as in_wheel, zipfile.ZipFile(jar) as in_jar:
        texts = json.loads(in_wheel.read("transom/error-conditions.json"))
        raised = json.loads(in_jar.read("transom/error-conditions.json"))
    sources = "".join(path.read_text("utf-8") for path in ROOT.glob("jvm/*/src/main/**/*.scala"))
    named = set(re.findall(r'"(TRANSOM_[A-Z_]+)"', sources))
    assert len(named) > 20
    assert named <= raised.keys()
    assert raised == texts


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    assert "transom/py.typed" in entries(wheel)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    info = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    described = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")}
    assert set(entries(wheel)) == described | package()


def test_the_sdist_holds_the_package_and_its_description(sdist: Path) -> None:
    top = sdist.name.removesuffix(".tar.gz")
    described = ("PKG-INFO", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore")
    with tarfile.open(sdist) as opened:
        names = {name.removeprefix(f"{top}/") for name in opened.getnames()}
    assert names == {*described, *(f"python/{name}" for name in package())}


def test_a_wheel_that_is_built_from_the_sdist_is_the_same(
    wheel: Path, sdist: Path, tmp_path: Path
) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, sdist], check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_jar_wheel_and_sdist_have_the_licence(jar: Path, wheel: Path, sdist: Path) -> None:
    licence = (ROOT / "LICENSE").read_bytes()
    info = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    with zipfile.ZipFile(jar) as in_jar, zipfile.ZipFile(wheel) as in_wheel:
        assert in_jar.read("META-INF/LICENSE") == licence
        assert in_wheel.read(f"{info}/licenses/LICENSE") == licence
    with tarfile.open(sdist) as opened:
        file = opened.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/LICENSE")
        assert file is not None
        assert file.read() == licence


def test_the_wheel_needs_a_spark_it_was_tested_with(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(opened.read(name))
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(needed) == ["pyarrow>=18", "pyspark<4.4,>=4.2"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_wheel_names_the_python_that_ci_runs_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(opened.read(name))
    prefix = "Programming Language :: Python :: 3."
    named = [c for c in metadata.get_all("Classifier", []) if c.startswith(prefix)]
    assert named == [f"{prefix}11"]
