"""The JVM changes letters the same way in each locale."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_upper_and_lower_case_do_not_depend_on_the_locale() -> None:
    """In Turkish, "FRIDAY" has no "i" in lower case."""
    files = [*ROOT.glob("jvm/*/src/**/*.scala"), *ROOT.glob("jvm/*/src/**/*.java")]
    assert files
    dependent = re.compile(r"\.to(Lower|Upper)Case\b(?!\(Locale\.ROOT\))")
    found = {file.name for file in files if dependent.search(file.read_text())}
    assert found == set()
