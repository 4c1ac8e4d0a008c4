"""External commands with a time limit: their output goes to the log, and none of their processes outlives the job."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from captionlab.jobs.programs import program_environment

# How many of the last lines of output an error message repeats.
LAST = 5
# Seconds between checks of a command, and seconds that a command has to end after a signal.
LOOK, GRACE = 1.0, 5.0


class CommandError(RuntimeError):
    """A command was not found, failed or exceeded its time limit. The message names it and repeats its last output."""


def run(
    command: Sequence[str], folder: Path, seconds: float, who: str, variables: Mapping[str, str] | None = None
) -> None:
    """Run a command in a folder, for `seconds` at most. `who` names its purpose in messages.

    The output is printed as it comes. `variables` are added to the environment of programs
    (captionlab.jobs.programs). The command and all processes that it started are ended on return, also after an error
    or a signal.
    Raises CommandError if the command cannot be run, fails or exceeds the time limit.
    """
    with NamedTemporaryFile() as said, open(said.name, encoding="utf-8", errors="replace") as reader:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=program_environment(variables),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandError(
                f"{who}: {command[0]!r} cannot be run ({error.strerror}); name a program that its environment has, or "
                "one by its absolute path"
            ) from error
        try:
            last = _follow(process, reader, seconds)
        finally:
            ended = process.poll()
            _end(process)
    if ended is None:
        raise CommandError(
            f"{who} was stopped after its time limit of {seconds / 60:g} minutes; {last}; raise the limit, or look why "
            "it takes so long"
        )
    if ended:
        raise CommandError(
            f"{who} ended with {how_ended(ended, 'the metric')}; {last}; the log of this job has all of it"
        )


def how_ended(status: int, limited: str) -> str:
    """Return how a process ended, by its return code, for a sentence. `limited` names what limits its memory."""
    if status >= 0:
        return f"exit status {status}"
    meaning = signal.strsignal(-status)
    named = f" ({meaning})" if meaning else ""
    memory = f"; memory may have run out, raise `mem_mb` of {limited}" if -status == signal.SIGKILL else ""
    return f"signal {-status}{named}{memory}"


def _follow(process: subprocess.Popen[bytes], reader: IO[str], seconds: float) -> str:
    """Print the output of a process until it ends or `seconds` have passed; return its last lines, for a sentence."""
    stop = time.monotonic() + seconds
    last: deque[str] = deque(maxlen=LAST)
    running = True
    while running and time.monotonic() < stop:
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(LOOK, max(0.0, stop - time.monotonic())))
        running = process.poll() is None
        text = reader.read()
        sys.stdout.write(text)
        last.extend(line.strip() for line in text.splitlines() if line.strip())
    return f"the last that it said: {' / '.join(last)}" if last else "it said nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its process group: by SIGTERM, and after a grace period by SIGKILL.

    A process of another user, which may not be ended, is left alone after the grace period.
    """
    try:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    finally:  # a second signal to this process may interrupt the wait
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
