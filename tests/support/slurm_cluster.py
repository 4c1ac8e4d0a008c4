"""A SLURM cluster on this machine, with the daemons of Debian's packages slurm-wlm and munge, for a test."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
# Daemons are in sbin, which is not on everybody's path.
SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])

# No accounting, no control groups, and a GPU that is only counted: what a container can have. A node claims more
# processors and memory than there are, so that only the GPU makes jobs wait.
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
MinJobAge=3600
JobRequeue=0
KillWait=20
ReturnToService=2
SchedulerParameters=sched_interval=1,sched_min_interval=0
GresTypes=gpu
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = """\
NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=16 RealMemory=200000 Gres=gpu:1 State=UNKNOWN
"""

# How many characters the name of a socket may have, and the numbers of a job and of a step of it in such a name.
SOCKET, STEP = 107, len("9999.4294967291")

# The plugin asks for the state of jobs after 40 seconds and then ever more rarely; tests have no such patience.
SNAKEMAKE = """
from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor
Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)
main()
"""


@dataclass
class Cluster:
    """A running cluster; its programs need `environment`."""

    environment: dict[str, str]

    def ask(self, *command: str) -> str:
        """Standard output of one of SLURM's programs."""
        result = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=True)
        return result.stdout

    def jobs(self) -> list[dict[str, str]]:
        """What the controller knows of every job, finished ones included."""
        lines = self.ask("scontrol", "--oneliner", "show", "job").splitlines()
        return [dict(item.split("=", 1) for item in line.split() if "=" in item) for line in lines]


@contextmanager
def cluster(folder: Path, nodes: int = 1) -> Iterator[Cluster]:
    """Start munged, slurmctld and a slurmd for each node below `folder`; cancel all jobs and stop them afterwards.

    The test is skipped where SLURM is missing. Raises ValueError if the name of the folder is too long: a node could
    start no job, and jobs would wait for ever.
    """
    if missing := [name for name in NEEDED if not shutil.which(name, path=SEARCHED)]:
        pytest.skip(f"SLURM is not installed (no {', '.join(missing)}); on Debian: apt-get install slurm-wlm munge")
    names = [f"node-{number}" for number in range(1, nodes + 1)]
    longest = max(len(f"{folder}/spool/{name}/{name}_") for name in names) + STEP
    if longest > SOCKET:
        raise ValueError(f"{folder} is {longest - SOCKET} characters too long for the sockets of jobs in it")
    path = os.pathsep.join([str(folder / "bin"), SEARCHED])
    environment = {**os.environ, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir(parents=True)
    _configure(folder, names)
    munge = [f"--{name}={folder}/munge.{end}" for name, end in _MUNGE_FILES]
    daemons: list[subprocess.Popen] = []

    def start(*command: str) -> None:
        with open(folder / f"{command[0]}-{len(daemons)}.out", "w", encoding="utf-8") as log:
            daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

    try:
        start("munged", "--foreground", "--force", "--num-threads=2", *munge)
        _wait_for(lambda: (folder / "munge.socket").exists(), folder)
        start("slurmctld", "-D")
        for name in names:
            start("slurmd", "-D", "-N", name)
        running = Cluster(environment)
        _wait_for(lambda: _output(environment, "sinfo", "--noheader", "--format=%T %D") == f"idle {nodes}\n", folder)
        yield running
    finally:
        _output(environment, "scancel", "--user", getpass.getuser())
        _wait_for(lambda: not _output(environment, "squeue", "--noheader").strip(), folder, fail=False)
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


_MUNGE_FILES = (
    ("key-file", "key"),
    ("log-file", "log"),
    ("pid-file", "pid"),
    ("seed-file", "seed"),
    ("socket", "socket"),
)


def _configure(folder: Path, names: list[str]) -> None:
    host = socket.gethostname().split(".")[0]
    controller, *ports = _free_ports(1 + len(names))
    text = CONFIGURATION.format(host=host, user=getpass.getuser(), folder=folder, controller=controller)
    nodes = [NODE.format(name=name, host=host, port=port) for name, port in zip(names, ports, strict=True)]
    (folder / "slurm.conf").write_text(text + "".join(nodes))
    # A device file, so that jobs see CUDA_VISIBLE_DEVICES; nothing is ever read from it.
    (folder / "gres.conf").write_text(f"NodeName={','.join(names)} Name=gpu File=/dev/null\n")
    # The plugin takes every SLURM_ variable away before it calls srun, and with it the place of the configuration.
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=SEARCHED)} "$@"\n')
    srun.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _output(environment: dict[str, str], *command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stdout


def _wait_for(condition, folder: Path, seconds: float = 30, fail: bool = True) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            if fail:
                logs = "\n".join(path.read_text()[-2000:] for path in sorted(folder.glob("*.out")))
                raise TimeoutError(f"the cluster did not start:\n{logs}")
            return
        time.sleep(0.2)
