"""The supported versions of Spark. The import of this module checks the version of PySpark."""

import pyspark

from transom._base.errors import runtime_error
from transom._version import __version__

SUPPORTED_SPARK = ("4.2", "4.3")


def is_supported(found: str) -> bool:
    """Return whether transom runs on this version of Spark."""
    return found.startswith(tuple(f"{line}." for line in SUPPORTED_SPARK))


def check_version(found: str) -> None:
    """Raise ``TRANSOM_SPARK_VERSION`` for a version of Spark that transom does not run on."""
    if not is_supported(found):
        raise runtime_error(
            "SPARK_VERSION",
            spark=found,
            package=__version__,
            supported=" and ".join(f"{line}.x" for line in SUPPORTED_SPARK),
            newest=SUPPORTED_SPARK[-1],
        )


check_version(pyspark.__version__)
