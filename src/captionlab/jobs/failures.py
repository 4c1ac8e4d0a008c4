"""Advice on failures of input or of the machine: a full disk, a locked folder, too little memory."""

import errno
import linecache
import shutil
import traceback
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}
_LOCKED = {errno.EROFS, errno.EACCES, errno.EPERM}
_LIBRARY = "captionlab."


def explanation(failure: Exception, hint: str | None) -> str | None:
    """Return the sentence that explains a failure to a user, or None if the traceback is needed, as for a bug.

    For an OSError the sentence is `hint`, the advice on the error, with the message in brackets. For an error class of
    captionlab, or a ValueError that a `raise` statement of captionlab raised, the sentence is the message followed by
    `hint`.
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
    """Return the advice for a folder or file that may not be written or read."""
    return f"{place} may not be written or read. Change its permissions or use another --directory, and run again."


def advice(failure: BaseException, output: str | None) -> str | None:
    """Return a sentence on a problem of the machine and its remedy, or None if neither the failure nor a cause is one.

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
        # Compare the name only: importing torch takes seconds, and most jobs do not need it.
        if type(cause).__name__ == "OutOfMemoryError":
            return (
                "The GPU has too little free memory. Look (nvidia-smi) whether another process uses it and run again; "
                "for a training, a larger optimizer.accumulate takes less memory and computes the same."
            )
        if isinstance(cause, MemoryError):
            return "The machine has too little free memory. Run fewer jobs at once (--cores, --resources mem_mb=...)."
        cause = cause.__cause__ or cause.__context__
    return None
