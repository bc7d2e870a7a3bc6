"""Windows of many keys are open at once in Real-Time Mode."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.kafka.broker import broker
from tests.end_to_end.support.programs.opening_keys import WINDOWS
from tests.end_to_end.support.programs.run import run

KEYS = 1_000_000


@pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="takes minutes: run by make check-long"
)
@pytest.mark.parametrize("kind", WINDOWS)
def test_windows_of_a_million_keys_are_open_in_a_heap_of_a_gigabyte(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker") as address:
        done = run("opening_keys", tmp_path, KEYS, address, "1g", kind, timeout=1_800)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    totals = json.loads(done.stdout.splitlines()[-1])
    assert totals.pop("heap") <= 1 << 30
    assert totals == {"results": KEYS, "right": KEYS}
