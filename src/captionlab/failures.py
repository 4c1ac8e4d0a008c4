"""What a person can do about a failure of input, or of the machine: a full disk, a locked folder, too little memory."""

import errno
import linecache
import shutil
import traceback
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}
_LOCKED = {errno.EROFS, errno.EACCES, errno.EPERM}
_LIBRARY = "captionlab."


def explanation(failure: Exception, hint: str | None) -> str | None:
    """What a person needs of a failure where that is a sentence; None where it is the traceback, as of a bug.

    A sentence is the message of an error of our own classes, each of which says what is wrong with a file, a value or
    the environment; of a ValueError that a `raise` of ours made, and not Python or a library; and `hint`, the advice on
    an OSError.
    """
    if isinstance(failure, OSError):
        return hint and f"{hint} ({failure})"
    *_, (frame, line) = traceback.walk_tb(failure.__traceback__)
    statement = linecache.getline(frame.f_code.co_filename, line, frame.f_globals).strip()
    here = str(frame.f_globals.get("__name__"))
    raised = statement.startswith("raise ") and here.startswith((_LIBRARY, "__main__"))
    if type(failure).__module__.startswith(_LIBRARY) or (type(failure) is ValueError and raised):
        return f"{failure} {hint}" if hint else str(failure)
    return None


def locked(place: object) -> str:
    """What to do where a folder or file may not be written or read."""
    return f"{place} may not be written or read. Change its permissions or use another --directory, and run again."


def advice(failure: BaseException, output: str | None) -> str | None:
    """A sentence on what happened to the machine and what to do; None when neither the failure nor a cause is of it.

    `output` is a file that the job was to write, if any.
    """
    above = Path(output or "").absolute().parents
    folder = next((parent for parent in above if parent.is_dir()), Path("/"))
    cause: BaseException | None = failure
    while cause is not None:
        number = cause.errno if isinstance(cause, OSError) else None
        # torch reports a full disk as a RuntimeError with the text of the system.
        if number in _FULL or "No space left on device" in str(cause):
            free = shutil.disk_usage(folder).free / 2**20
            return (
                f"The disk that holds {folder} is full ({free:.0f} MB free). Make room and run again: what is finished "
                "stays, and trainings go on from their last checkpoint."
            )
        if number in _LOCKED:
            return locked(getattr(cause, "filename", None) or folder)
        if number == errno.EISDIR:
            return f"{getattr(cause, 'filename', None)} is a folder, and a file is wanted; name that."
        # By name, for importing torch takes seconds and most jobs do without it.
        if type(cause).__name__ == "OutOfMemoryError":
            return (
                "The GPU has too little free memory. Look (nvidia-smi) whether another process uses it and run again; "
                "for a training, a larger optimizer.accumulate takes less memory and computes the same."
            )
        if isinstance(cause, MemoryError):
            return "The machine has too little free memory. Run fewer jobs at once (--cores, --resources mem_mb=...)."
        cause = cause.__cause__ or cause.__context__
    return None
