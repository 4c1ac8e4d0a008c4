"""Commands of others, run with a time limit: what they say goes to the log, and nothing of them outlives the job."""

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

# Lines of what a command said that its failure repeats.
LAST = 5
# Seconds between looks at a command, and those that one has to end once it is told to.
LOOK, GRACE = 1.0, 5.0


class CommandError(RuntimeError):
    """A command is not found, fails or runs for too long; the message names it and has the last that it said."""


def run(
    command: Sequence[str], folder: Path, seconds: float, who: str, variables: Mapping[str, str] | None = None
) -> None:
    """Run a command in a folder, for so many seconds at most; `who` is what it is run for, in messages.

    What it says is printed as it comes. `variables` are those of its environment, by default of this process. However
    this ends, by a signal too, the command and the processes that it started are ended. Raises CommandError.
    """
    with NamedTemporaryFile() as said, open(said.name, encoding="utf-8", errors="replace") as reader:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
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
        raise CommandError(f"{who} ended with {_how(ended)}; {last}; the log of this job has all of it")


def _how(ended: int) -> str:
    """How a process ended that did not end well, by its return code, for a sentence."""
    if ended > 0:
        return f"exit status {ended}"
    meaning = signal.strsignal(-ended)
    named = f" ({meaning})" if meaning else ""
    memory = "; memory may have run out, raise `mem_mb` of the metric" if -ended == signal.SIGKILL else ""
    return f"signal {-ended}{named}{memory}"


def _follow(process: subprocess.Popen[bytes], reader: IO[str], seconds: float) -> str:
    """Print what a process says until it ends, or for so many seconds; the last of it, for a sentence."""
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
    """End a process and all of its group: by a request, and after a while without one.

    One of another user, which may not be ended, is left alone after a while.
    """
    try:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    finally:  # a second signal may end the wait
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
