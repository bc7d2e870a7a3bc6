"""Checks of the installation that need no Spark session. A failed check names what to do."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql.pandas.utils import require_minimum_pandas_version

from transom._supported import SUPPORTED_SPARK, is_supported
from transom._version import __version__
from transom.config import jar_path

OLDEST_JDK = 17
OLDEST_PYARROW = 18
# PySpark's generated protobuf messages for state. Their import fails if protobuf is too old.
_STATE_MESSAGES = "pyspark.sql.streaming.proto.StateMessage_pb2"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a check, printed as one line.

    Attributes
    ----------
    ok : bool
        Whether nothing has to be done.
    text : str
        What was found, and what to do if the check failed.
    optional : bool
        Whether windows run although the check failed.
    """

    ok: bool
    text: str
    optional: bool = False

    @classmethod
    def fine(cls, text: str) -> "Finding":
        """Return the outcome of a check that found nothing to do."""
        return cls(ok=True, text=text)

    @classmethod
    def todo(cls, text: str, *, optional: bool = False) -> "Finding":
        """Return the outcome of a check that failed."""
        return cls(ok=False, text=text, optional=optional)


def find_jdk() -> Finding:
    """Check that the Java that Spark will start is there and new enough."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    todo = f"install JDK {OLDEST_JDK} or newer and set JAVA_HOME to its folder"
    if java is None or not Path(java).is_file():
        return Finding.todo(f"there is no java at {java or 'any folder of PATH'}: {todo}")
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', output)
    if found is None:
        return Finding.todo(f"{java} does not print its version: {todo}")
    if int(found[1]) < OLDEST_JDK:
        return Finding.todo(f"{java} has version {found[1]}, which is too old: {todo}")
    return Finding.fine(f"{found[1]}{found[2]} at {java}")


def find_pyspark() -> Finding:
    """Check that this PySpark is supported, and starts a Spark of the same minor version."""
    found = pyspark.__version__
    if not is_supported(found):
        lines = " and ".join(f"{line}.x" for line in SUPPORTED_SPARK)
        newest = f"pip install 'pyspark~={SUPPORTED_SPARK[-1]}.0'"
        return Finding.todo(f"PySpark {found} is not supported, transom runs on {lines}: {newest}")
    home = Path(_find_spark_home())
    todo = f"unset SPARK_HOME, or set it to the folder of a Spark {found}"
    started = [
        name[1]
        for jar in home.glob("jars/spark-core_*.jar")
        if (name := re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", jar.name))
    ]
    if not started:
        return Finding.todo(f"there is no Spark at {home}: {todo}")
    if any(_line_of(version) != _line_of(found) for version in started):
        return Finding.todo(f"PySpark {found} starts Spark {started[0]} at {home}: {todo}")
    return Finding.fine(found)


def _line_of(version: str) -> list[str]:
    return version.split(".")[:2]


def find_pyarrow() -> Finding:
    """Check that pyarrow is installed and new enough."""
    todo = f"pip install 'pyarrow>={OLDEST_PYARROW}'"
    try:
        found = version("pyarrow")
    except PackageNotFoundError:
        return Finding.todo(f"pyarrow is not installed: {todo}")
    if int(found.split(".")[0]) < OLDEST_PYARROW:
        return Finding.todo(f"{found} is too old: {todo}")
    return Finding.fine(found)


def find_pandas() -> Finding:
    """Check that pandas is installed, which some functions need."""
    try:
        with warnings.catch_warnings(action="ignore"):
            # PySpark warns about pandas 3. Only a missing or old pandas is a problem here.
            require_minimum_pandas_version()
    except PySparkException as error:
        who = "only form='pandas' and state over a static DataFrame, in apply() and scan(), need it"
        try:
            version("pandas")
            problem = first_line(error)
        except PackageNotFoundError:
            problem = "pandas is not installed"
        return Finding.todo(f"{problem}; {who}: pip install --upgrade 'pandas<3'", optional=True)
    return Finding.fine(version("pandas"))


def find_protobuf() -> Finding:
    """Check that protobuf is installed, which PySpark's client of the state store needs."""
    for_state = "only window_state, key_state and the state of scan() need it"
    try:
        import_module(_STATE_MESSAGES)
        return Finding.fine(version("protobuf"))
    except (ImportError, PackageNotFoundError):
        problem, command = "protobuf is not installed", "pip install protobuf"
    except Exception as error:  # noqa: BLE001, protobuf raises a class of its own
        problem = f"PySpark cannot use this protobuf ({first_line(error)})"
        command = "pip install --upgrade protobuf"
    return Finding.todo(f"{problem}; {for_state}: {command}", optional=True)


def find_worker_python() -> Finding:
    """Check that the Python that Spark starts for functions is this version, and has transom."""
    worker = os.environ.get("PYSPARK_PYTHON", "python3")
    this = "{}.{}".format(*sys.version_info)
    program = "import sys, transom; print('{}.{}'.format(*sys.version_info))"
    todo = f"only functions in Python need it: export PYSPARK_PYTHON={sys.executable}"
    try:
        # Elsewhere than in this folder, which may have a folder named transom.
        ran = subprocess.run(
            [worker, "-c", program],
            cwd=tempfile.gettempdir(),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return Finding.todo(f"Spark cannot start {worker} ({error}); {todo}", optional=True)
    if ran.returncode != 0:
        problem = (ran.stderr.strip().splitlines() or ["it fails"])[-1]
        return Finding.todo(f"{worker} cannot import transom ({problem}); {todo}", optional=True)
    if ran.stdout.strip() != this:
        problem = f"{worker} is Python {ran.stdout.strip()}, but this is Python {this}"
        return Finding.todo(f"{problem}; {todo}", optional=True)
    return Finding.fine(f"{this}, started as {worker}")


def find_jar() -> Finding:
    """Check that the package contains the jar, in the version of the package."""
    try:
        path = jar_path()
        with zipfile.ZipFile(path) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode()
    except PySparkException as error:
        return Finding.todo(first_line(error))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return Finding.todo(f"the jar cannot be read ({error}): reinstall the wheel")
    found = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    if found is None or found[1] != __version__:
        jar_version = found[1] if found else "unknown"
        return Finding.todo(
            f"the jar has version {jar_version}, the package {__version__}: reinstall the wheel"
        )
    return Finding.fine(f"{__version__} at {path}")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its class if it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
