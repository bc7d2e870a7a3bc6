"""The page on Real-Time Mode lists each part that a query is refused for."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/concepts/real-time.md"
SPARK = ROOT / "jvm/spark/src/main/scala/org/apache/spark/sql/transom"
# Texts that name what the query has, and what the page says for them.
NAMED = {
    "PySpark $SPARK_VERSION": ["PySpark 4.2"],
    "${spec.window.productPrefix}()": ["Snapshot()", "Rolling()", "CountByStart()"],
}


def refused() -> set[str]:
    """The parts in the calls of ``RealTime.refuse`` and ``RealTime.refusal``."""
    found = []
    for path in SPARK.rglob("*.scala"):
        # In other files, a call has the name of its object.
        name = r"(?<!def )\brefuse" if path.name == "RealTime.scala" else r"RealTime\.refus(?:e|al)"
        call = re.compile(name + r'\([^"{}]*s?"([^"]+)"')
        found += call.findall(path.read_text(encoding="utf-8"))
    return {part for text in found for part in NAMED.get(text, [text])}


def test_the_table_has_each_part_that_is_refused() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, _, below = page.partition("[`TRANSOM_REAL_TIME`]")
    table = below.partition("Spark refuses")[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    listed = [part for cell in cells for part in re.findall("`(.*?)`", cell)]
    assert len(listed) == len(set(listed))
    assert len(listed) > 15
    assert set(listed) == refused()
