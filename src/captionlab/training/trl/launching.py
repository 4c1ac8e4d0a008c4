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
    processes meet. Raises ValueError if several machines are asked for outside of a SLURM job of as many nodes.
    """
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", accelerate]
    program = ["-m", "captionlab.training.trl", job]
    if machines == 1:
        return [*launcher, *program]
    if (nodes := int(environment.get("SLURM_JOB_NUM_NODES", 1))) != machines:
        raise ValueError(
            f"{accelerate} is for {machines} machines, and this job has {nodes}; submit it to SLURM with `nodes: "
            f"{machines}` (docs/clusters.md), or set num_machines to {nodes}"
        )
    port = FIRST_PORT + int(environment["SLURM_JOB_ID"]) % PORTS
    meeting = ["--main_process_ip", host, "--main_process_port", str(port)]
    # The shell on each node replaces $SLURM_NODEID by the rank of the node.
    on_node = f"exec {shlex.join([*launcher, *meeting])} --machine_rank $SLURM_NODEID {shlex.join(program)}"
    spread = [f"--nodes={machines}", f"--ntasks={machines}", "--ntasks-per-node=1", "--overlap", "--kill-on-bad-exit=1"]
    return ["srun", *spread, "bash", "-c", on_node]


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
