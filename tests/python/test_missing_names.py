"""Names that the package does not have: the error says which name to write instead."""

from pathlib import Path
from typing import Any

import pytest
from mypy import api as mypy
from pyspark.errors import PySparkAttributeError

import transom
from tests.python.conditions import raises
from transom._base.names import _OURS

PACKAGE: Any = transom


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        # Spark.
        ("window", "transom.stream(...).window(...)"),
        ("session_window", "transom.Session"),
        # Azure, Atlas and SQL.
        ("TumblingWindow", "transom.Tumbling"),
        ("HoppingWindow", "transom.Hopping"),
        ("SessionWindow", "transom.Session"),
        ("SlidingWindow", "transom.Sliding"),
        ("tumblingWindow", "transom.Tumbling"),
        ("Tumble", "transom.Tumbling('1 hour')"),
        # Flink and Beam.
        ("TumblingEventTimeWindows", "transom.Tumbling('1 hour')"),
        ("SlidingEventTimeWindows", "transom.Hopping('1 hour', '5 minutes')"),
        ("EventTimeSessionWindows", "transom.Session('5 minutes')"),
        (
            "TumblingProcessingTimeWindows",
            "transom.Tumbling('1 hour') with time=transom.ProcessingTime()",
        ),
        ("GlobalWindows", "transom.Global"),
        ("FixedWindows", "transom.Tumbling('1 hour')"),
        ("Sessions", "transom.Session"),
        ("EventTimeTrigger", "transom.AfterWatermark()"),
        ("CountEvictor", "transom.KeepLast(10)"),
        # Steps of a query.
        ("key_by", "transom.stream(...).key_by(...)"),
        ("agg", "transom.stream(...).window(...).agg(...)"),
        ("with_late_rows", "transom.stream(...).window(...).with_late_rows(...)"),
        # Typing errors.
        ("tumbling", "transom.Tumbling"),
        ("AfterWaterMark", "transom.AfterWatermark"),
        ("Cumulative", "transom.Cumulate"),
    ],
)
def test_a_name_of_another_library_or_place_is_explained(name: str, instead: str) -> None:
    with raises("MISPLACED", name, PySparkAttributeError) as caught:
        getattr(PACKAGE, name)
    assert str(caught.value).startswith(f"[TRANSOM_MISPLACED] transom has no {name}: ")
    assert str(caught.value).endswith(f" Write {instead}.")


@pytest.mark.parametrize("name", ["wibble", "_wibble", "__wrapped__", "read_csv"])
def test_other_names_are_unknown_as_in_any_module(name: str) -> None:
    assert not hasattr(PACKAGE, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'") as caught:
        getattr(PACKAGE, name)
    assert not isinstance(caught.value, PySparkAttributeError)


def test_names_of_others_are_not_ours_and_stand_for_ours() -> None:
    assert [name for name in _OURS if hasattr(transom, name)] == []
    assert {call.partition("(")[0] for call in _OURS.values()} <= set(transom.__all__)


def test_type_checkers_report_unknown_names(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import transom\ntransom.SessionWindow('5 minutes')\n")
    found, _, _ = mypy.run(["--strict", "--no-error-summary", str(program)])
    assert 'Module has no attribute "SessionWindow"' in found
