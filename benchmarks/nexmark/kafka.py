"""A Kafka broker on this machine, for the duration of a benchmark."""

import base64
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

JARS = Path("build/kafka")
POMS = Path(__file__).parent
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
log.dirs={folder}
offsets.topic.replication.factor=1
auto.create.topics.enable=false
"""


def broker_jars() -> list[Path]:
    """Return the jars of the broker."""
    return _jars("broker")


def connector_jars() -> list[Path]:
    """Return the jars with which Spark reads and writes topics."""
    return _jars("connector")


def flink_jars() -> list[Path]:
    """Return the jars with which Flink reads topics."""
    return _jars("flink")


def _jars(name: str) -> list[Path]:
    folder = JARS / name
    if not folder.exists():
        JARS.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=JARS)).absolute()
        subprocess.run(
            [
                *("mvn", "--quiet", "--batch-mode", "--file", str(POMS / f"{name}.xml")),
                *("dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"),
            ],
            check=True,
        )
        unfinished.rename(folder)
    return sorted(folder.absolute().glob("*.jar"))


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[str]:
    """Run a broker that keeps its data in a folder, and yield its address.

    The broker may not answer yet. Kafka's clients wait until it does.
    """
    classpath = os.pathsep.join(map(str, broker_jars()))
    java = ["java", "-Xmx1g", "-cp", classpath]
    ports = dict(zip(("broker", "controller"), _free_ports(2), strict=True))
    settings = folder / "server.properties"
    settings.write_text(SETTINGS.format(folder=folder / "data", **ports))
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
    format_ = ["kafka.tools.StorageTool", "format", "--cluster-id", cluster]
    subprocess.run(
        [*java, *format_, "--config", str(settings)], check=True, stdout=subprocess.DEVNULL
    )
    with (folder / "printed").open("w") as printed:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(settings)], stdout=printed, stderr=printed
        )
    try:
        yield f"127.0.0.1:{ports['broker']}"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def feed(brokers: str, folder: Path) -> None:
    """Make the topics, and write the events of a folder into them."""
    module = [sys.executable, "-m", "benchmarks.nexmark.feed"]
    subprocess.run([*module, brokers, str(folder)], check=True, stdout=subprocess.DEVNULL)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        # All sockets are open at the same time, so that their ports differ.
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
