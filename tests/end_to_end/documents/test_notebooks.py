"""The notebooks run from top to bottom, show what they should, and hold no outputs in git."""

from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.sessions import Reason, skip_in_connect

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
LOG = pd.read_csv(ROOT / "tests/data/machine_temperature.csv.gz", parse_dates=["timestamp"])


def cells(notebook: Path) -> Any:
    return nbformat.read(notebook, as_version=4).cells


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_in_git_has_no_outputs(notebook: Path) -> None:
    ran = [cell for cell in cells(notebook) if cell.cell_type == "code"]
    assert len(ran) > 5
    assert [cell.source for cell in ran if cell.outputs or cell.execution_count] == []


def sessions(hot: "pd.Series[pd.Timestamp]") -> list[tuple[pd.Timestamp, int]]:
    """The starts of sessions with a gap of 15 minutes, and how many readings they have."""
    found: list[list[pd.Timestamp]] = []
    for at in sorted(hot):
        if not found or at - found[-1][-1] > pd.Timedelta(minutes=15):
            found.append([])
        found[-1].append(at)
    return [(session[0], len(session)) for session in found]


@pytest.mark.skipif(not LONG, reason="starts a kernel: run by make check-long")
def test_the_temperatures_are_those_of_the_log() -> None:
    skip_in_connect(Reason.PROCESS)
    notebook = nbformat.read(ROOT / "examples/notebooks/temperatures.ipynb", as_version=4)
    where = {"metadata": {"path": str(ROOT / "examples/notebooks")}}
    NotebookClient(notebook, timeout=300, resources=where).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    printed = "".join(out.text for out in outputs if out.get("name") == "stdout")

    windows = LOG["timestamp"].dt.floor("3h").nunique()
    assert f"{len(LOG):,} readings\n{windows} windows with {len(LOG):,} readings\n" in printed
    before = (LOG["timestamp"] < LOG["timestamp"].cummax()).sum()
    assert before > 0
    assert f"dropped: {before}, from 2014-01-07 02:00:00 to 2014-01-07 02:50:00\n" in printed
    longest, readings = max(sessions(LOG["timestamp"][LOG["value"] > 100]), key=lambda s: s[1])
    first = next(line for line in printed.splitlines() if line.strip().startswith(str(longest)))
    assert first.split()[4] == str(readings)
    shown = [out.data for out in outputs if out.output_type == "display_data"]
    assert [set(data) & {"image/png"} for data in shown] == [{"image/png"}] * 3
