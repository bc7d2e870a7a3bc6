"""A driver in a process of its own.

``python -m tests.cluster.driver URL CASE FOLDER BATCH`` runs a case on a cluster. The process kills
itself and its JVM when the sink has the rows of the batch, unless BATCH is "none". At its end it
prints its `Outcome` as JSON.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.cluster.runs import Case, cluster_session, run
from tests.cluster.standalone import ENVIRONMENT


def main(url: str, case: Case, folder: Path, batch: str) -> None:
    """Run a case, at most to a batch."""
    spark = cluster_session(url, ENVIRONMENT / "bin" / "python", folder)
    assert spark._jvm is not None
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())

    def kill(batch_id: int) -> None:
        if str(batch_id) == batch:
            os.kill(jvm, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    print(run(spark, case, folder, after_batch=kill).text())
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Case.parse(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
