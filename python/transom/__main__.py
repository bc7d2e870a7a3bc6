"""The commands ``python -m transom jar`` and ``python -m transom doctor``."""

import argparse
import sys
from collections.abc import Sequence

from transom import jar_path
from transom.doctor import doctor


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m transom")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("jar", help="print the jar's path, for spark-submit --jars")
    commands.add_parser("doctor", help="check the installation, and print what to fix")
    if parser.parse_args(arguments).command == "jar":
        print(jar_path())
        return 0
    return doctor()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
