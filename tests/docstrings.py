"""The examples in the package's docstrings, as tests."""

import doctest
import importlib
import pkgutil
import re
from typing import Any

from pyspark.sql import functions as F

import transom

_IN_A_SESSION = re.compile(r"\bspark\b|SparkSession")


def examples(*, in_session: bool) -> list[doctest.DocTest]:
    """Return the examples that need a session or the jar, or the examples that need neither."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = [info.name for info in pkgutil.walk_packages(transom.__path__, "transom.")]
    modules = [importlib.import_module(name) for name in names if name != "transom.__main__"]
    found = [test for module in modules for test in finder.find(module, module.__name__)]
    return [
        test
        for test in found
        if any(_IN_A_SESSION.search(example.source) for example in test.examples) == in_session
    ]


def check(test: doctest.DocTest, **names: Any) -> None:
    """Run an example with these names, in addition to the names of its module."""
    test.globs.update(transom=transom, F=F, **names)
    output: list[str] = []
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.DocTestRunner(optionflags=options).run(test, out=output.append)
    assert not failed, "".join(output)
