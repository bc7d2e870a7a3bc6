"""The jar is the same, byte for byte, when it is built again in another folder."""

import shutil
import subprocess
from pathlib import Path

from tests.packaging.conftest import ROOT, long

pytestmark = long


def test_a_second_build_gives_the_same_jar(jar: Path, tmp_path: Path) -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.splitlines():
        if name.startswith(("build.sbt", "sbt", "project/", "jvm/", "spec/", "LICENSE")):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    subprocess.run(["./sbt", "spark/packageBin"], cwd=tmp_path, check=True)
    (built,) = (tmp_path / "jvm/spark/target/scala-2.13").glob("transom_*.jar")
    assert built.read_bytes() == jar.read_bytes()
