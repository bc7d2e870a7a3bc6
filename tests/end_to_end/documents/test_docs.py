"""The Python on the pages of the documentation, run from top to bottom."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.documents.pages import blocks, check_in_session
from tests.end_to_end.support.sessions import Reason, skip_in_connect

DOCS = Path(__file__).parents[3] / "docs"
# These pages run in a folder of their own, or with a broker: see the other files of this package.
ELSEWHERE = {
    DOCS / "index.md",
    DOCS / "tutorial.md",
    DOCS / "how-to/running/kafka-to-parquet.md",
    DOCS / "how-to/running/real-time.md",
}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if blocks(page) and page not in ELSEWHERE]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_on_a_page_prints_what_the_page_says(page: Path, spark: SparkSession) -> None:
    if any("observedMetrics" in block.code for block in blocks(page)):
        skip_in_connect(Reason.NAMES)
    check_in_session(page, {"spark": spark})
