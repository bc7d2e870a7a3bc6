"""The link check, tried on small jars whose library changes after they were compiled."""

import subprocess
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.link.check import LinkCheck

LIBRARY = {
    "lib/Shape": """package lib; public abstract class Shape implements Named {
        public static int count = 0;
        protected Shape() {}
        public abstract double area();
        public long times(int factor, String[] names) { return factor; }
        protected void grow() {}
        public void move() {} }""",
    "lib/Named": "package lib; public interface Named { default String name() { return null; } }",
    "lib/Tool": "package lib; public class Tool { public static void use(Shape shape) {} }",
}
OURS = {
    "transom/Square": """package transom; public class Square extends lib.Shape {
        public double area() { grow(); lib.Tool.use(this); return times(2, null) + count; }
        public void move() { Runnable later = this::grow; later.run(); }
        public String toString() { return name() + hashCode(); } }"""
}


def compiled(sources: dict[str, str], folder: Path, class_path: Path | None = None) -> Path:
    """Compile Java sources into one jar."""
    classes = folder / "classes"
    for name, text in sources.items():
        file = folder / f"{name}.java"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    command = ["javac", "-d", str(classes), *(str(folder / f"{name}.java") for name in sources)]
    if class_path is not None:
        command[1:1] = ["-cp", str(class_path)]
    subprocess.run(command, check=True)
    jar = folder / "made.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.rglob("*.class"):
            archive.write(file, str(file.relative_to(classes)))
    return jar


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our jar, compiled against the library as it was."""
    folder = tmp_path_factory.mktemp("before")
    return compiled(OURS, folder / "ours", compiled(LIBRARY, folder / "library"))


def problems_with(ours: Path, folder: Path, library: dict[str, str]) -> list[str]:
    with closing(LinkCheck(ours, [compiled(library, folder)])) as check:
        return check.problems()


def changed(name: str, old: str, new: str) -> dict[str, str]:
    assert old in LIBRARY[name]
    return LIBRARY | {name: LIBRARY[name].replace(old, new)}


def test_the_library_it_was_compiled_against_has_no_problems(ours: Path, tmp_path: Path) -> None:
    assert problems_with(ours, tmp_path, LIBRARY) == []


def test_a_class_that_is_gone_is_named(ours: Path, tmp_path: Path) -> None:
    library = {name: text for name, text in LIBRARY.items() if name != "lib/Tool"}
    assert problems_with(ours, tmp_path, library) == ["no class lib.Tool, used by transom.Square"]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        (
            "lib/Tool",
            "void use(Shape shape) {",
            "int use(Shape shape) { return 0;",
            "no method lib.Tool.use(Llib/Shape;)V",
        ),
        ("lib/Tool", "void use(Shape", "void use(Named", "no method lib.Tool.use(Llib/Shape;)V"),
        ("lib/Shape", "int count", "long count", "no field transom.Square.count: I"),
        ("lib/Shape", "times(int", "times(long", "no method transom.Square.times(I["),
        ("lib/Named", "String name", "String call", "no method transom.Square.name()"),
        ("lib/Shape", "protected Shape()", "Shape()", "not accessible: method lib.Shape.<init>()V"),
        ("lib/Tool", "public class", "public interface", "now an interface"),
        ("lib/Shape", "public void move", "public final void move", "overrides the final method"),
        (
            "lib/Shape",
            "public void move() {}",
            "public abstract void move(); public abstract void turn();",
            "transom.Square does not implement lib.Shape.turn()V",
        ),
        (
            "lib/Named",
            "default",
            "int rank(); default",
            "transom.Square does not implement lib.Named.rank()I",
        ),
    ],
)
def test_a_change_that_breaks_the_jar_is_named(
    ours: Path, tmp_path: Path, name: str, old: str, new: str, expected: str
) -> None:
    library = changed(name, old, new)
    found = problems_with(ours, tmp_path, library)
    assert len(found) == 1
    assert expected in found[0]


def test_a_member_that_moves_to_a_supertype_is_found(ours: Path, tmp_path: Path) -> None:
    library = changed("lib/Shape", "public void move() {}", "")
    assert problems_with(ours, tmp_path, library) == []
