"""The reasons in Spark why the output of a crashed query may differ from an undisturbed run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

BLOCKED = "does not start again"
SKIPPED = "a batch is skipped"
NO_DATA = "the last windows wait"

REASONS = {
    BLOCKED: (
        "Spark refuses to restart a query that crashed before the first entry of its offset log, "
        "because the folder of that log is not empty "
        "(`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`). Nothing has been written by then: delete "
        "the checkpoint and start again."
    ),
    SKIPPED: (
        "The crash came after the file sink had committed a batch and before Spark had. The sink "
        "skips the repeated batch, so its rows do not move the watermark. Windows that this batch "
        "would have closed wait for the next rows. A drained query is not affected."
    ),
    NO_DATA: (
        "The crash came after the last batch with rows. A restarted `availableNow` run starts no "
        "batch without rows, so the windows that the last rows close wait for the next rows. A "
        "drained query is not affected."
    ),
}

_FIRST_OFFSETS = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"


def loss_after(folder: Path) -> str | None:
    """Return the work that Spark drops in the next run over a checkpoint, if any.

    Parameters
    ----------
    folder : Path
        Folder with the checkpoint, and with the output and log of the file sink if there is one.

    Returns
    -------
    str or None
        `SKIPPED` if the last batch has been committed by the file sink only, `NO_DATA` if the last
        batch that began has been committed by Spark.
    """
    begun = _newest(folder / "checkpoint" / "offsets")
    committed = _newest(folder / "checkpoint" / "commits")
    if begun == committed:
        return NO_DATA
    return SKIPPED if _newest(folder / "out" / "_spark_metadata") == begun else None


def _newest(log: Path) -> int:
    if not log.exists():
        return -1
    return max((int(path.name) for path in log.iterdir() if path.name.isdigit()), default=-1)


def reason_of(error: str, losses: Collection[str], *, is_pending: bool) -> str | None:
    """Return the reason if a difference is Spark's own.

    Parameters
    ----------
    error : str
        The error of every restart, or an empty string.
    losses : collection of str
        The results of `loss_after` after each crash.
    is_pending : bool
        Whether results are missing and none are extra.
    """
    if error:
        return BLOCKED if _FIRST_OFFSETS in error else None
    return next(iter(losses), None) if is_pending else None
