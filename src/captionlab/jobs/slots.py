"""Slots: each of the jobs that run at the same time on a machine has GPUs of its own.

Snakemake counts GPUs (`resources: gpu`) but does not assign them. A job locks a file that stands for a GPU, and the
system releases the lock when the process ends for any reason. The files lie in a folder of the user and the scheduler's
job, so within an allocation only the GPUs that the scheduler made visible are shared out.
"""

import fcntl
import logging
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)

# Variables in which SLURM, PBS, LSF and Grid Engine give the number of a job.
SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")


def visible_devices() -> list[str]:
    """Return the GPUs listed in CUDA_VISIBLE_DEVICES or, if it is not set, all GPUs of the machine."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


@contextmanager
def reserved(count: int) -> Iterator[list[str]]:
    """Reserve `count` GPUs and make only these visible. Waits until they are free. With 0, no GPU is visible.

    Yields the names of the GPUs. If the machine has fewer GPUs than `count`, all are reserved, and the log says so.
    CUDA must not have been used in this process before.
    """
    devices = visible_devices() if count else []
    if len(devices) < count and devices:
        logger.warning("%d GPUs were asked for and %d can be seen; going on with these.", count, len(devices))
    locks = _lock(devices, min(count, len(devices))) if devices else {}
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(locks)
    if locks:
        logger.info("Computing on GPU %s of %s.", ", ".join(locks), ", ".join(devices))
    try:
        yield list(locks)
    finally:
        for descriptor in locks.values():
            os.close(descriptor)
        if before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _lock(devices: Sequence[str], count: int) -> dict[str, int]:
    """Return the first `count` free devices, each with the open file that holds its lock. Waits until they are free."""
    folder = _folder()
    if len(locks := _free(folder, devices, count)) < count:
        logger.info("Waiting for %d of the GPUs %s, which other jobs use.", count, ", ".join(devices))
    while len(locks) < count:
        # Release all locks: two jobs that each hold a part of their GPUs would wait for each other forever.
        for descriptor in locks.values():
            os.close(descriptor)
        time.sleep(random.uniform(0.1, 0.3))
        locks = _free(folder, devices, count)
    return locks


def _free(folder: Path, devices: Sequence[str], count: int) -> dict[str, int]:
    locks: dict[str, int] = {}
    for device in devices:
        descriptor = os.open(folder / f"gpu-{device.replace('/', '-')}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        # The launcher of several processes replaces this process and must inherit the lock.
        os.set_inheritable(descriptor, True)
        locks[device] = descriptor
        if len(locks) == count:
            break
    return locks


def _folder() -> Path:
    """Return the folder of the locks, which only this user may enter."""
    own = Path(tempfile.gettempdir(), f"captionlab-{os.getuid()}")
    own.mkdir(mode=0o700, exist_ok=True)
    if own.stat().st_uid != os.getuid():
        raise PermissionError(f"{own} belongs to somebody else; delete it, or set TMPDIR to a folder of your own")
    job = next((os.environ[name] for name in SCHEDULERS if os.environ.get(name)), "local")
    folder = own / f"gpus-of-{job.replace('/', '-')}"
    folder.mkdir(exist_ok=True)
    return folder
