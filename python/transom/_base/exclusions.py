"""The table of settings that exclude each other.

``exclusions.json`` is a copy of ``spec/exclusions.json``, from which the engine has its table too.
`WindowSpec` knows what it means that a setting is set.
"""

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from pyspark.errors import PySparkValueError

from transom._base.errors import value_error


class Exclusion(NamedTuple):
    """Two settings that exclude each other.

    ``<window>`` in a text stands for the kind of a window.
    """

    setting: str
    other: str
    condition: str
    setting_text: str
    other_text: str
    why: str

    def error(self, *, window: str = "", argument: str | None = None) -> PySparkValueError:
        """Return the error for a window of a kind.

        The error names the first setting as its argument, or the given argument.
        """
        texts = (self.setting_text, self.other_text, self.why)
        step, other, why = (text.replace("<window>", window) for text in texts)
        if self.condition == "NOT_EVENT_TIME":
            return value_error("NOT_EVENT_TIME", argument=other)
        named = argument or step.removesuffix("()")
        return value_error("CONFLICT", argument=named, step=step, other=other, why=why)


@cache
def exclusions() -> tuple[Exclusion, ...]:
    """Return all pairs, in the order in which they are checked."""
    file = files("transom").joinpath("exclusions.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    texts = {name: setting["text"] for name, setting in table["settings"].items()}
    return tuple(
        Exclusion(
            setting,
            other,
            row.get("condition", "CONFLICT"),
            texts[setting],
            texts[other],
            row["why"],
        )
        for row in table["exclusions"]
        for setting in row["settings"]
        for other in row["others"]
    )


def exclusion(setting: str, other: str) -> Exclusion:
    """Return the pair of two settings that exclude each other."""
    return next(pair for pair in exclusions() if pair[:2] == (setting, other))
