"""A SLURM cluster of one node, with the daemons of Debian's packages slurm-wlm and munge, for a test."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
# Daemons are in sbin, which is not on everybody's path.
SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])

# No accounting, no control groups, and a GPU that is only counted: what a container can have. The node claims more
# processors and memory than it has, so that only the GPU makes jobs wait.
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
MinJobAge=3600
KillWait=20
ReturnToService=2
SchedulerParameters=sched_interval=1,sched_min_interval=0
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=200000 Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> list[str]:
    """What has to be installed before a cluster can be started."""
    return [name for name in NEEDED if not shutil.which(name, path=SEARCHED)]


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
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start munged, slurmctld and slurmd below `folder`; cancel all jobs and stop the daemons afterwards."""
    path = os.pathsep.join([str(folder / "bin"), SEARCHED])
    environment = {**os.environ, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir(parents=True)
    _configure(folder)
    munge = [f"--{name}={folder}/munge.{end}" for name, end in _MUNGE_FILES]
    daemons: list[subprocess.Popen] = []

    def start(*command: str) -> None:
        with open(folder / f"{command[0]}.out", "w", encoding="utf-8") as log:
            daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

    try:
        start("munged", "--foreground", "--force", "--num-threads=2", *munge)
        _wait_for(lambda: (folder / "munge.socket").exists(), folder)
        start("slurmctld", "-D")
        start("slurmd", "-D")
        running = Cluster(environment)
        _wait_for(lambda: "idle" in _output(environment, "sinfo", "--noheader", "--format=%T"), folder)
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


def _configure(folder: Path) -> None:
    host = socket.gethostname().split(".")[0]
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        ports = {"controller": first.getsockname()[1], "node": second.getsockname()[1]}
    text = CONFIGURATION.format(host=host, user=getpass.getuser(), folder=folder, **ports)
    (folder / "slurm.conf").write_text(text)
    # A device file, so that jobs see CUDA_VISIBLE_DEVICES; nothing is ever read from it.
    (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/null\n")
    # The plugin takes every SLURM_ variable away before it calls srun, and with it the place of the configuration.
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=SEARCHED)} "$@"\n')
    srun.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)


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
