"""Runs a command in fresh processes with a time limit, and measures their memory and disk."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

EVERY_SECONDS = 0.1
# One look in this many includes the folders, because they hold many files.
FOLDERS_EVERY = 10
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Cores that this process may use. Empty if the system does not report them.
USABLE_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class FailedError(Exception):
    """A command failed, or exceeded the time limit. The message has the reason.

    Attributes
    ----------
    limit : float or None
        The time limit in seconds, if the command exceeded it.
    """

    def __init__(self, why: str, limit: float | None = None) -> None:
        super().__init__(why)
        self.limit = limit


@dataclass(slots=True)
class Watched:
    """The largest memory of the processes of one session, and the largest size of folders.

    Attributes
    ----------
    folders : dict
        The folders to measure, by name.
    memory_bytes : int or None
        Resident memory, summed over the processes. None on systems without ``/proc``.
    disk_bytes : dict
        Size of each folder that exists, by name.
    """

    folders: dict[str, Path]
    memory_bytes: int | None = None
    disk_bytes: dict[str, int] = field(default_factory=dict)

    def look(self, session: int, *, folders: bool) -> None:
        """Measure once."""
        memory = resident_bytes(session)
        if memory is not None:
            self.memory_bytes = max(self.memory_bytes or 0, memory)
        for name, folder in self.folders.items() if folders else ():
            if folder.exists():
                self.disk_bytes[name] = max(self.disk_bytes.get(name, 0), bytes_in(folder))


def end_on_signal() -> None:
    """Make SIGTERM end this process and the commands that it runs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def confine(cores: int) -> None:
    """Confine this process and its later commands to a number of cores, if the system can.

    A JVM compiles code and collects garbage on all cores that it finds, besides its tasks.
    """
    if USABLE_CORES:
        os.sched_setaffinity(0, USABLE_CORES[:cores])


def run(command: list[str], limit: float, work: Path, watched: Watched) -> str:
    """Run a command to its end, kill all processes that it started, and return its output.

    A JVM may hang when it exits, if a thread of RocksDB logs through the JVM at this time. A pipe
    would then stay open, so the output goes to files.

    Raises
    ------
    FailedError
        The command took longer than `limit` seconds, or ended with an error.
    """
    printed, errors = work / "printed", work / "errors"
    with printed.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(process.pid, watched, over))
    watching.start()
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        raise FailedError(f"took longer than {limit:.0f} s", limit) from None
    finally:
        over.set()
        watching.join()
        _end(process.pid)
        process.wait()
    if code != 0:
        if "OutOfMemoryError" in errors.read_text(errors="replace"):
            raise FailedError("ran out of memory")
        last = "\n".join(errors.read_text(errors="replace").splitlines()[-60:])
        raise FailedError(f"ended with {code}:\n{last}")
    return printed.read_text()


def resident_bytes(session: int) -> int | None:
    """Return the resident memory of all processes of a session, child processes included."""
    pids = _processes(session)
    if pids is None:
        return None
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return total


def bytes_in(folder: Path) -> int:
    """Return the size of all files below a folder. Files may vanish meanwhile."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(path, name).stat().st_size
    return total


def _watch(session: int, watched: Watched, over: threading.Event) -> None:
    looks = 0
    while not over.wait(EVERY_SECONDS):
        looks += 1
        watched.look(session, folders=looks % FOLDERS_EVERY == 0)
    watched.look(session, folders=True)


def _processes(session: int) -> list[int] | None:
    if not Path("/proc/self/stat").exists():
        return None
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name may contain any character. After it come state, parent, group and session.
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                found.append(int(process.name))
    return found


def _end(session: int) -> None:
    for pid in _processes(session) or []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)
