"""The command that launches the processes of a training by TRL, on one machine or on the nodes of a SLURM job."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import yaml

# Ports of the first process, one for each SLURM job, so that jobs on one node do not meet.
FIRST_PORT, PORTS = 20000, 20000


def launch_command(job: str, accelerate: str, machines: int, host: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command that launches the processes of a training.

    `job` is the file of the job, and `accelerate` a file that `accelerate config` wrote, for `machines` machines. With
    several machines, `srun` starts accelerate on each node of the SLURM job, and `host`, the first node, is where the
    processes meet. Raises ValueError if several machines are asked for outside of a SLURM job, or in a job that says
    that it has another number of nodes.
    """
    if machines == 1:
        return [*_launcher(accelerate), *_program(job)]
    # Snakemake's plugin takes the number of nodes out of the environment of a job. Then srun refuses too many machines.
    unknown = machines if "SLURM_JOB_ID" in environment else 1
    if (nodes := int(environment.get("SLURM_JOB_NUM_NODES", unknown))) != machines:
        raise ValueError(
            f"{accelerate} is for {machines} machines, and this job has {nodes}; submit it to SLURM with the "
            f"resources `nodes: {machines}`, `mpi: srun` and `tasks_per_node` (docs/clusters.md), or set num_machines "
            f"to {nodes}"
        )
    return srun_command(job, accelerate, machines, host, int(environment["SLURM_JOB_ID"]))


def srun_command(job: str, accelerate: str, nodes: int, host: str, slurm_job: int) -> list[str]:
    """Return the command that starts accelerate on each node of the SLURM job with the number `slurm_job`."""
    meeting = ["--main_process_ip", host, "--main_process_port", str(FIRST_PORT + slurm_job % PORTS)]
    # The shell on each node replaces $SLURM_NODEID by the rank of the node.
    launcher, program = shlex.join([*_launcher(accelerate), *meeting]), shlex.join(_program(job))
    on_node = f"exec {launcher} --machine_rank $SLURM_NODEID {program}"
    spread = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--overlap", "--kill-on-bad-exit=1"]
    return ["srun", *spread, "bash", "-c", on_node]


def _launcher(accelerate: str) -> list[str]:
    return [sys.executable, "-m", "accelerate.commands.launch", "--config_file", accelerate]


def _program(job: str) -> list[str]:
    return ["-m", "captionlab.training.trl", job]


def launch(job: Path, accelerate: str, environment: Mapping[str, str], log: IO[str]) -> None:
    """Run a training in the processes of an accelerate file, and wait. Output is written to `log`.

    If this process is stopped, the processes are stopped, too. Raises SystemExit with their exit status if they fail.
    """
    settings = yaml.safe_load(Path(accelerate).read_text(encoding="utf-8"))
    machines = int(settings.get("num_machines", 1))
    command = launch_command(str(job), accelerate, machines, socket.gethostname(), environment)
    # A group of their own, so that a stop signal reaches all of them: accelerate does not pass it on.
    process = subprocess.Popen(
        command, stdout=log, stderr=subprocess.STDOUT, env=dict(environment), start_new_session=True
    )
    try:
        status = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    if status:
        raise SystemExit(status)
