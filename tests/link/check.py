"""Proves that everything the jar names in Spark and Scala exists in an installed PySpark.

``python -m tests.link.check python/transom/jars/transom.jar`` checks against the PySpark of the
Python that runs it. It prints missing members, and its exit code is 1 if there are any.
"""

import argparse
import importlib.metadata
import importlib.util
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tests.link.classfile import (
    ABSTRACT,
    FINAL,
    PRIVATE,
    PROTECTED,
    PUBLIC,
    STATIC,
    ClassFile,
    Member,
    Reference,
)
from tests.link.universe import Universe

# Every array and every interface has Object's methods, whose class is the JDK's.
_OBJECT_METHODS = frozenset(
    [
        "clone",
        "equals",
        "finalize",
        "getClass",
        "hashCode",
        "notify",
        "notifyAll",
        "toString",
        "wait",
    ]
)


class LinkCheck:
    """Compares one jar with the jars it will run with.

    Parameters
    ----------
    jar : Path
        The jar to check.
    others : list of Path
        The jars it will run with.
    """

    def __init__(self, jar: Path, others: list[Path]) -> None:
        self.names = class_names(jar)
        self._ours = frozenset(self.names)
        self._universe = Universe([jar, *others])

    def close(self) -> None:
        """Close the jars."""
        self._universe.close()

    def problems(self) -> list[str]:
        """List the names that would fail to link, one line each."""
        return sorted({problem for name in self.names for problem in self._problems_of(name)})

    def _problems_of(self, name: str) -> Iterator[str]:
        ours = self._universe.find(name)
        if ours is None:
            return
        for used in ours.classes:
            if self._universe.find(used) is None and not self._universe.is_hidden(used):
                yield f"no class {_dotted(used)}, used by {_dotted(ours.name)}"
        for reference in ours.references:
            yield from self._unresolved(reference, ours)
        yield from self._overridden_finals(ours)
        if not ours.access & ABSTRACT and not self._has_jdk_superclass(ours):
            yield from self._unimplemented(ours)

    def _unresolved(self, reference: Reference, ours: ClassFile) -> Iterator[str]:
        kind, owner, member = reference
        target = self._universe.find(owner)
        if target is None:
            # A missing class has its own line. Arrays and JDK classes are not read.
            return
        place = f"{_dotted(owner)}.{_readable(member)}, used by {_dotted(ours.name)}"
        if kind != "field" and target.is_interface != (kind == "interface method"):
            yield f"now {'an interface' if target.is_interface else 'a class'}, for {kind} {place}"
            return
        declared = self._universe.declaration(owner, kind, member)
        if declared is None:
            if not self._may_be_of_jdk(owner, member):
                yield f"no {kind} {place}"
        elif not self._is_accessible(*declared, ours):
            yield f"not accessible: {kind} {place}"

    def _may_be_of_jdk(self, owner: str, member: Member) -> bool:
        if member.name == "<init>":
            return False
        return member.name in _OBJECT_METHODS or self._universe.reaches_hidden(owner)

    def _is_accessible(self, declarer: ClassFile, access: int, ours: ClassFile) -> bool:
        if access & PUBLIC or _outermost(declarer.name) == _outermost(ours.name):
            return True
        if access & PROTECTED and self._universe.is_subtype(ours.name, declarer.name):
            return True
        # A package of the same name in another class loader is another package.
        return (
            not access & PRIVATE
            and declarer.name in self._ours
            and _package(declarer.name) == _package(ours.name)
        )

    def _overridden_finals(self, ours: ClassFile) -> Iterator[str]:
        for above in list(self._universe.lineage(ours.name))[1:]:
            if above.access & FINAL and above.name == ours.super_name:
                yield f"{_dotted(ours.name)} extends the final class {_dotted(above.name)}"
            for member, access in ours.methods.items():
                theirs = above.methods.get(member, 0)
                if theirs & FINAL and not (theirs | access) & (PRIVATE | STATIC):
                    yield (
                        f"{_dotted(ours.name)} overrides the final method "
                        f"{_dotted(above.name)}.{_readable(member)}"
                    )

    def _unimplemented(self, ours: ClassFile) -> Iterator[str]:
        lineage = list(self._universe.lineage(ours.name))
        implemented = {
            member
            for found in lineage
            for member, access in found.methods.items()
            if not access & (ABSTRACT | STATIC | PRIVATE)
        }
        for found in lineage:
            for member, access in found.methods.items():
                if (
                    access & ABSTRACT
                    and member not in implemented
                    and member.name not in _OBJECT_METHODS
                ):
                    yield (
                        f"{_dotted(ours.name)} does not implement "
                        f"{_dotted(found.name)}.{_readable(member)}"
                    )

    def _has_jdk_superclass(self, ours: ClassFile) -> bool:
        return any(
            found.super_name not in (None, "java/lang/Object")
            and self._universe.find(str(found.super_name)) is None
            for found in self._universe.lineage(ours.name)
            if not found.is_interface
        )


def class_names(jar: Path) -> list[str]:
    """List the classes in a jar, by their internal names."""
    with zipfile.ZipFile(jar) as archive:
        return [
            entry.removesuffix(".class") for entry in archive.namelist() if entry.endswith(".class")
        ]


def _dotted(name: str) -> str:
    return name.replace("/", ".")


def _readable(member: Member) -> str:
    return f"{member.name}{'' if member.descriptor.startswith('(') else ': '}{member.descriptor}"


def _package(name: str) -> str:
    return name.rpartition("/")[0]


def _outermost(name: str) -> str:
    return name.partition("$")[0]


def spark_jars() -> list[Path]:
    """List the jars of the installed PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SystemExit("PySpark is not installed in this environment")
    return sorted((Path(spec.origin).parent / "jars").glob("*.jar"))


def main() -> int:
    """Check one jar against the installed PySpark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jar", type=Path)
    jar = parser.parse_args().jar
    version = importlib.metadata.version("pyspark")
    with closing(LinkCheck(jar, spark_jars())) as check:
        found = check.problems()
    for line in found:
        print(line)
    print(
        f"link check of {len(check.names)} classes against PySpark {version}: {len(found)} problems"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
