"""Functions that every rule script shares: log, threads, GPUs, cost of the job, and messages at a failure."""

import logging
import os
import platform
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, Any

import psutil

from captionlab.jobs.failures import advice, explanation
from captionlab.jobs.progress import log_counts
from captionlab.jobs.provenance import Job, working_on
from captionlab.jobs.slots import reserved, visible_devices
from captionlab.jobs.usage import usage
from captionlab.storage import paths
from captionlab.storage.schemas import COST
from captionlab.storage.tables import write_table

logger = logging.getLogger(__name__)


def script(main: Callable[[Any], None], parallel: bool = False, launches: bool = False) -> Callable[[Any], None]:
    """Decorate the `main` of a script, at the end of its file. If Snakemake runs the script, `main` runs at once.

    `main` gets the `snakemake` object that Snakemake put into the script's namespace. Everything printed or logged goes
    to the rule's log file. The script sees only as many GPUs as its rule asks for. If `parallel` is set and the rule
    gets several GPUs, each has a process: this process becomes torch's launcher, which starts the script again, and
    `main` runs in every process at once (captionlab.jobs.processes). If `launches` is set, `main` sees all GPUs of its
    rule and starts processes itself. A script that is started without Snakemake gets the job of its arguments
    (captionlab.jobs.alone).
    """
    namespace = main.__globals__
    if namespace["__name__"] != "__main__":  # imported
        return main
    if "snakemake" in namespace:
        snakemake = namespace["snakemake"]
    else:
        from captionlab.jobs.alone import job_alone  # imports Snakemake, which takes a second

        snakemake = job_alone(Path(namespace["__file__"]), sys.argv[1:])
    # The thread count does not depend on the machine, because the order of floating-point sums depends on it.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(snakemake.threads)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        _work_in_one_of_several(main, snakemake)
        return main
    gpus = int(snakemake.resources.get("gpu", 0))
    with (
        _logged(snakemake, "w") as file,
        _stoppable(),
        reserved(gpus if parallel or launches else min(gpus, 1)) as devices,
    ):
        if parallel and len(devices) > 1:
            _become_launcher(len(devices), file)
        with measured(snakemake.rule, snakemake.log[0]), working_on(_job_of(snakemake)):
            main(snakemake)
    return main


parallel_script = partial(script, parallel=True)
launching_script = partial(script, launches=True)


def _job_of(snakemake: Any) -> Job:
    """Return the job that Snakemake runs."""
    return Job(
        rule=snakemake.rule,
        log=snakemake.log[0],
        wildcards=dict(snakemake.wildcards.items()),
        params=dict(snakemake.params.items()),
        inputs=list(snakemake.input),
        outputs=list(snakemake.output),
        named=dict(snakemake.input.items()),
        listed=list(snakemake.input.get("listed", ())),
    )


def device() -> str:
    """Return the device on which torch computes: "cuda" if a GPU is visible, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def folder_of(file: str) -> Path:
    """Return the folder of a model, from one of its files."""
    return Path(file).parent


@contextmanager
def measured(rule: str, log: str | os.PathLike[str]) -> Iterator[None]:
    """Measure the cost of the work in the block and, if it ends without an error, write it beside the log.

    The cost of results/logs/{rule}/{job}.log is in results/cost/{rule}/{job}.parquet, which is no declared output of
    any rule: it is overwritten when the job runs again, and nothing depends on it. The cost of an interrupted job
    counts from its resumption. If results lie in a bucket, both files are in Snakemake's local copy of the bucket.
    """
    yield
    seconds = time.time() - psutil.Process().create_time()
    file = paths.beside_log(log, "cost", ".parquet")
    name = file.relative_to(paths.results_of(log) / "cost").with_suffix("")
    row: dict[str, Any] = {"rule": rule, "job": "/".join(name.parts[1:]), "seconds": seconds, "cpu_seconds": None}
    row["memory_mb"] = _peak_memory()
    processes = int(os.environ.get("WORLD_SIZE", 1))
    if processes == 1:
        used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        row["cpu_seconds"] = sum(one.ru_utime + one.ru_stime for one in used)
    # A job that did not import torch used no GPU, and importing torch would take longer than most jobs.
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        row |= {"gpu_seconds": 0.0, "gpu_memory_mb": 0.0, "device": f"CPU ({platform.machine()})"}
    else:
        row["gpu_seconds"] = seconds * processes
        row["gpu_memory_mb"] = torch.cuda.max_memory_reserved() / 1e6
        row["device"] = torch.cuda.get_device_name()
    row |= asdict(usage)
    write_table(file, COST, {column: [value] for column, value in row.items()})


def _peak_memory() -> float | None:
    """Return the peak memory, in MB, of this process or of a child that it waited for; None outside Linux."""
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux
        return None
    # This process began as a copy of Snakemake, whose memory ru_maxrss includes. VmHWM starts anew.
    own = next(
        int(line.split()[1]) for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")
    )
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024 / 1e6


def _become_launcher(processes: int, file: IO[str]) -> None:
    """Replace this process by torch's launcher, which starts this script `processes` times; output goes to the log.

    The signals of Snakemake or a scheduler reach the launcher, which passes them on, and the GPUs stay reserved.
    """
    logger.info("Starting %d processes, one for each GPU.", processes)
    for stream in (1, 2):
        os.dup2(file.fileno(), stream)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    os.execv(sys.executable, [*launcher, "--local-addr=127.0.0.1", *sys.argv])


def _work_in_one_of_several(main: Callable[[Any], None], snakemake: Any) -> None:
    """Run `main` in a process that the launcher started. The first process logs all, the others warnings only."""
    from captionlab.jobs.processes import is_first, process_group

    os.environ["CUDA_VISIBLE_DEVICES"] = visible_devices()[int(os.environ["LOCAL_RANK"])]
    with _logged(snakemake, "a"), _stoppable(), process_group():
        if is_first():
            with measured(snakemake.rule, snakemake.log[0]), working_on(_job_of(snakemake)):
                main(snakemake)
        else:
            logging.getLogger().setLevel(logging.WARNING)
            with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
                main(snakemake)


@contextmanager
def _logged(snakemake: Any, mode: str) -> Iterator[IO[str]]:
    with open(snakemake.log[0], f"{mode}+", buffering=1, encoding="utf-8") as file:
        logging.basicConfig(stream=file, level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", force=True)
        with redirect_stdout(file), redirect_stderr(file):
            try:
                try:
                    yield file
                finally:
                    log_counts()
            except Exception as failure:
                hint = advice(failure, next(iter(snakemake.output), None))
                if sentence := explanation(failure, hint):
                    *_, place = traceback.extract_tb(failure.__traceback__)
                    logger.error("%s failed in %s, line %d", snakemake.rule, place.filename, place.lineno)
                    _say_first_and_last(file, sentence)
                    raise SystemExit(sentence) from None
                if hint:
                    failure.add_note(hint)
                logging.exception("%s failed", snakemake.rule)
                raise


def _say_first_and_last(log: IO[str], sentence: str) -> None:
    """Write a sentence before and after the content of the log. With several processes, it is only appended."""
    log.seek(0)
    said = log.read()
    if not log.mode.startswith("a"):
        log.seek(0)
        log.write(f"{sentence}\n\n{said}\n")
    log.write(f"{sentence}\n")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that resources are closed. Otherwise a Java program would continue to run."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
