"""The README's example prints what the README says it prints."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.usefixtures("spark")
def test_the_example_prints_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (output,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    exec(compile(example, str(README), "exec"), {})
    assert capsys.readouterr().out.strip() == output.strip()
