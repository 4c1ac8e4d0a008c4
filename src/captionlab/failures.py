"""What a person can do about a failure of the machine: a full disk, a locked folder, too little memory."""

import errno
import shutil
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}
_LOCKED = {errno.EROFS, errno.EACCES, errno.EPERM}


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
            place = getattr(cause, "filename", None) or folder
            return (
                f"{place} may not be written or read. Change its permissions or use another --directory, and run again."
            )
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
