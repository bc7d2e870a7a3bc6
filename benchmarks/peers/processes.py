"""Runs a command in fresh processes, under a limit, and watches what they take."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

EVERY_SECONDS = 0.1
# Folders are looked at less often, since they hold many files.
FOLDERS_EVERY = 10
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Cores that this process may use, as far as the system tells.
USABLE_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class FailedError(Exception):
    """A command that did not end well, or not in time; says why.

    Attributes
    ----------
    limit : float or None
        The seconds after which it was given up, if that is why.
    """

    def __init__(self, why: str, limit: float | None = None) -> None:
        super().__init__(why)
        self.limit = limit


@dataclass(slots=True)
class Watched:
    """What the processes of one session have taken at most, and folders on disk.

    Attributes
    ----------
    folders : dict
        Where to look, by name.
    memory_bytes : int or None
        Resident memory, summed over the processes; none where there is no ``/proc``.
    disk_bytes : dict
        What is in each folder that there is.
    """

    folders: dict[str, Path]
    memory_bytes: int | None = None
    disk_bytes: dict[str, int] = field(default_factory=dict)

    def look(self, session: int, *, folders: bool) -> None:
        """Look once."""
        memory = resident_bytes(session)
        if memory is not None:
            self.memory_bytes = max(self.memory_bytes or 0, memory)
        for name, folder in self.folders.items() if folders else ():
            if folder.exists():
                self.disk_bytes[name] = max(self.disk_bytes.get(name, 0), bytes_in(folder))


def end_on_signal() -> None:
    """Let whoever stops this process with SIGTERM stop what it runs too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def confine(cores: int) -> None:
    """Let what is run from now on use so many cores alone, where the system can see to that.

    Besides its tasks a JVM compiles code and collects garbage, for which it takes what it finds.
    """
    if USABLE_CORES:
        os.sched_setaffinity(0, USABLE_CORES[:cores])


def run(command: list[str], limit: float, work: Path, watched: Watched) -> str:
    """Run a command to its end, and end with it whatever it started; what it printed.

    A JVM may hang as it exits, when a thread of RocksDB's wants to log through it just then. So its
    output goes to files: a pipe would stay open.

    Raises
    ------
    FailedError
        It took longer than `limit` seconds, or ended with an error.
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
    """The resident memory of all processes of a session, which what they start belongs to."""
    pids = _processes(session)
    if pids is None:
        return None
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return total


def bytes_in(folder: Path) -> int:
    """What all files below a folder take; some may vanish while we look."""
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
            # Behind the name, which may hold anything: state, parent, group, session.
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
