"""The commands ``python -m transom jar`` and ``python -m transom doctor``."""

import argparse
import sys
from collections.abc import Sequence

from transom import jar_path
from transom.doctor import doctor, doctor_connect


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m transom")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("jar", help="print the jar's path, for spark-submit --jars")
    check = commands.add_parser("doctor", help="check the installation, and print what to fix")
    check.add_argument("--connect", metavar="URL", help="check the Spark Connect server at sc://…")
    parsed = parser.parse_args(arguments)
    if parsed.command == "jar":
        print(jar_path())
        return 0
    return doctor() if parsed.connect is None else doctor_connect(parsed.connect)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
