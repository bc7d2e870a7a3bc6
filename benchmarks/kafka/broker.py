"""A Kafka broker on this machine, for the duration of a benchmark or of tests."""

import base64
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kafka.jars import broker_jars

# The same name for each broker. A random one can start with "-", and Kafka's
# tool then takes it for an option.
CLUSTER = base64.urlsafe_b64encode(b"transom's broker").rstrip(b"=").decode()

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
    format_ = ["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER]
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


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        # All sockets are open at the same time, so that their ports differ.
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
