"""Reads what a Java class file defines and refers to (JVM specification, chapter 4)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

PUBLIC, PRIVATE, PROTECTED, STATIC, FINAL = 0x1, 0x2, 0x4, 0x8, 0x10
INTERFACE, ABSTRACT = 0x200, 0x400

# Sizes of the constants that carry no name. The other constants are read one by one.
_PLAIN_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 8: 2, 15: 3, 17: 4, 18: 4, 19: 2, 20: 2}
_REFERENCES = {9: "field", 10: "method", 11: "interface method"}


class Member(NamedTuple):
    """The name and type of a method or field."""

    name: str
    descriptor: str


class Reference(NamedTuple):
    """A method or field of another class that a class file names."""

    kind: str
    owner: str
    member: Member


@dataclass(frozen=True)
class ClassFile:
    """One class: its own members and everything it refers to."""

    name: str
    access: int
    super_name: str | None
    interfaces: tuple[str, ...]
    fields: dict[Member, int]
    methods: dict[Member, int]
    classes: frozenset[str]
    references: frozenset[Reference]

    @property
    def is_interface(self) -> bool:
        """Whether this is an interface or a trait."""
        return bool(self.access & INTERFACE)

    @property
    def supertypes(self) -> tuple[str, ...]:
        """The superclass, then the interfaces."""
        return (*((self.super_name,) if self.super_name else ()), *self.interfaces)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def u1(self) -> int:
        return int.from_bytes(self.take(1))

    def u2(self) -> int:
        return int.from_bytes(self.take(2))

    def u4(self) -> int:
        return int.from_bytes(self.take(4))

    def take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]


class _Constants:
    """The constant pool: everything that a class file refers to by number."""

    def __init__(self, reader: _Reader) -> None:
        self.texts: dict[int, str] = {}
        self.class_names: dict[int, int] = {}
        self.method_types: list[int] = []
        self.names_and_types: dict[int, tuple[int, int]] = {}
        self.references: list[tuple[str, int, int]] = []
        count, index = reader.u2(), 1
        while index < count:
            tag = reader.u1()
            self._read(index, tag, reader)
            # Longs and doubles take two numbers.
            index += 2 if tag in (5, 6) else 1

    def _read(self, index: int, tag: int, reader: _Reader) -> None:
        if tag == 1:
            # Java's encoding of rare characters may fail. The names of Spark and Scala are plain.
            self.texts[index] = reader.take(reader.u2()).decode(errors="replace")
        elif tag == 7:
            self.class_names[index] = reader.u2()
        elif tag == 12:
            self.names_and_types[index] = (reader.u2(), reader.u2())
        elif tag == 16:
            self.method_types.append(reader.u2())
        elif tag in _REFERENCES:
            self.references.append((_REFERENCES[tag], reader.u2(), reader.u2()))
        elif tag in _PLAIN_SIZES:
            reader.take(_PLAIN_SIZES[tag])
        else:
            raise ValueError(f"unknown constant {tag}")

    def class_name(self, index: int) -> str:
        return self.texts[self.class_names[index]]

    def member(self, index: int) -> Member:
        name, descriptor = self.names_and_types[index]
        return Member(self.texts[name], self.texts[descriptor])

    def all_references(self) -> Iterator[Reference]:
        for kind, owner, member in self.references:
            yield Reference(kind, self.class_name(owner), self.member(member))

    def all_classes(self) -> Iterator[str]:
        """Every class that is named as such or inside the type of a member."""
        for index in self.class_names:
            yield from _classes_in(self.class_name(index))
        for _, descriptor in self.names_and_types.values():
            yield from _classes_in(self.texts[descriptor])
        for descriptor in self.method_types:
            yield from _classes_in(self.texts[descriptor])


def _classes_in(text: str) -> Iterator[str]:
    """The class names in a descriptor such as ``(ILjava/lang/String;)[J``, or the name itself."""
    if text[0] not in "([" and not text.endswith(";"):
        if len(text) > 1:
            yield text
        return
    at = 0
    while (start := text.find("L", at)) >= 0:
        at = text.index(";", start) + 1
        yield text[start + 1 : at - 1]


def _members(reader: _Reader, constants: _Constants) -> dict[Member, int]:
    members = {}
    for _ in range(reader.u2()):
        access, name, descriptor = reader.u2(), reader.u2(), reader.u2()
        for _ in range(reader.u2()):
            reader.u2()
            reader.take(reader.u4())
        members[Member(constants.texts[name], constants.texts[descriptor])] = access
    return members


def parse(data: bytes) -> ClassFile:
    """Read one class file."""
    reader = _Reader(data)
    (magic,) = struct.unpack(">I", reader.take(4))
    if magic != 0xCAFEBABE:
        raise ValueError("not a class file")
    reader.take(4)
    constants = _Constants(reader)
    access, name, super_index = reader.u2(), constants.class_name(reader.u2()), reader.u2()
    interfaces = tuple(constants.class_name(reader.u2()) for _ in range(reader.u2()))
    fields = _members(reader, constants)
    methods = _members(reader, constants)
    return ClassFile(
        name=name,
        access=access,
        super_name=constants.class_name(super_index) if super_index else None,
        interfaces=interfaces,
        fields=fields,
        methods=methods,
        classes=frozenset(constants.all_classes()),
        references=frozenset(constants.all_references()),
    )
