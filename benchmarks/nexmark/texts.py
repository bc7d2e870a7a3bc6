"""Generators of the texts of Nexmark's events, for many events at once."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Lengths: TypeAlias = npt.NDArray[np.integer]

FIRST_NAMES = [
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky"),
    *("Kate", "Julie", "Sarah", "Deiter", "Walter"),
]
LAST_NAMES = [
    *("Shultz", "Abrams", "Spencer", "White", "Bartels"),
    *("Walton", "Smith", "Jones", "Noris"),
]
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = [
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
]
SHORTEST_WORD = 3
SPACES = 13  # one character in this many is a space


def one_of(values: list[str], count: int, random: np.random.Generator) -> pa.Array:
    """Choose among values with equal probability."""
    return pa.array(values).take(pa.array(random.integers(0, len(values), count)))


def words(count: int, below: int, random: np.random.Generator) -> pa.Array:
    """Return texts of letters and spaces, shorter than ``below``."""
    lengths = random.integers(SHORTEST_WORD, below, count)
    letters = _letters(lengths.sum(), random)
    letters[random.integers(0, SPACES, len(letters)) == 0] = ord(" ")
    return pc.utf8_trim_whitespace(_strings(letters, lengths))


def credit_cards(count: int, random: np.random.Generator) -> pa.Array:
    """Return texts of four times four digits."""
    digits = random.integers(ord("0"), ord("9") + 1, (count, 19), dtype=np.uint8)
    digits[:, 4::5] = ord(" ")
    return _strings(digits.ravel(), np.full(count, 19))


def padding(used: Lengths, average: int, random: np.random.Generator) -> pa.Array:
    """Return letters that bring events of ``used`` bytes to an average, give or take a fifth."""
    missing = np.maximum(average - used, 0)
    fifth = np.rint(missing * 0.2).astype(np.int64)
    lengths = missing - fifth + random.integers(0, np.maximum(2 * fifth, 1))
    return _strings(_letters(lengths.sum(), random), lengths)


def joined(left: pa.Array, right: pa.Array | pa.Scalar, *, between: str) -> pa.Array:
    """Join texts in pairs."""
    return pc.binary_join_element_wise(left, right, between)


def _letters(count: int, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    return random.integers(ord("a"), ord("z") + 1, count, dtype=np.uint8)


def _strings(letters: npt.NDArray[np.uint8], lengths: Lengths) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(letters))
