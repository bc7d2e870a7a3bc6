"""All classes that a JVM would see, found by name and read on first use."""

import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.link.classfile import ClassFile, Member, parse

# The JDK's classes cannot be read here. The compiler checks them by its option for the release.
_JDK = re.compile(r"(java|javax|jdk|sun|com/sun|org/w3c|org/xml)/")


class Universe:
    """The classes of some jars, the first jar first.

    Parameters
    ----------
    jars : list of Path
        In the order of the class path.
    """

    def __init__(self, jars: list[Path]) -> None:
        self._home: dict[str, zipfile.ZipFile] = {}
        self._archives = [zipfile.ZipFile(jar) for jar in jars]
        for archive in self._archives:
            for entry in archive.namelist():
                if entry.endswith(".class"):
                    self._home.setdefault(entry.removesuffix(".class"), archive)
        self.find = cache(self._find)

    def _find(self, name: str) -> ClassFile | None:
        archive = self._home.get(name)
        return None if archive is None else parse(archive.read(f"{name}.class"))

    def close(self) -> None:
        """Close the jars."""
        for archive in self._archives:
            archive.close()

    def is_hidden(self, name: str) -> bool:
        """Whether a class belongs to the JDK, so that it exists but cannot be read."""
        return name not in self._home and _JDK.match(name) is not None

    def lineage(self, name: str) -> Iterator[ClassFile]:
        """Yield a class and all its supertypes that can be read, superclasses first."""
        seen: set[str] = set()
        superclasses, interfaces = [name], list[str]()
        while superclasses or interfaces:
            current = superclasses.pop(0) if superclasses else interfaces.pop(0)
            if current in seen:
                continue
            seen.add(current)
            found = self.find(current)
            if found is None:
                continue
            if found.super_name and not found.is_interface:
                superclasses.append(found.super_name)
            interfaces.extend(found.interfaces)
            yield found

    def is_subtype(self, name: str, of: str) -> bool:
        """Whether a class is, extends or implements another."""
        return any(of in (found.name, *found.supertypes) for found in self.lineage(name))

    def reaches_hidden(self, name: str) -> bool:
        """Whether a class inherits from a JDK class other than Object."""
        return any(
            self.is_hidden(supertype) and supertype != "java/lang/Object"
            for found in self.lineage(name)
            for supertype in found.supertypes
        )

    def declaration(self, owner: str, kind: str, member: Member) -> tuple[ClassFile, int] | None:
        """Return the class that declares what ``owner.member`` resolves to, with its access."""
        for found in self.lineage(owner):
            members = found.fields if kind == "field" else found.methods
            if member in members:
                return found, members[member]
        return None
