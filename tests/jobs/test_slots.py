"""Jobs that run at the same time see GPUs of their own, also after one of them was killed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from captionlab.jobs.slots import reserved, visible_devices

JOB = """
import json, os, sys, time
from captionlab.jobs.slots import reserved
with reserved(int(sys.argv[1])) as devices:
    print(json.dumps([devices, os.environ["CUDA_VISIBLE_DEVICES"]]), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine with four GPUs, and a temporary folder of its own."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0, 1,2,3")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def job():
    """Start a process that holds GPUs until it is told to end."""
    started = []

    def start(count, **environment):
        process = subprocess.Popen(
            [sys.executable, "-c", JOB, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def devices_of(process):
    devices, visible = json.loads(process.stdout.readline())
    assert visible == ",".join(devices)
    return devices


def test_each_has_its_own(job):
    found = [devices_of(job(1)), devices_of(job(2)), devices_of(job(1))]
    assert found == [["0"], ["1", "2"], ["3"]]


def test_a_killed_job_holds_nothing(job):
    first, second = job(3), job(1)
    assert len(devices_of(first)) + len(devices_of(second)) == 4
    waiting = job(3)
    time.sleep(0.5)
    os.set_blocking(waiting.stdout.fileno(), False)
    assert not waiting.stdout.readline()
    os.set_blocking(waiting.stdout.fileno(), True)
    first.send_signal(signal.SIGKILL)
    assert len(devices_of(waiting)) == 3


def test_names_of_a_scheduler_are_kept(job):
    """Two jobs of a cluster may both call their GPU 0; within one of them the GPUs are shared out."""
    one = {"SLURM_JOB_ID": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert devices_of(job(1, **one)) == ["0"]
    assert devices_of(job(1, **{**one, "SLURM_JOB_ID": "2"})) == ["0"]
    several = {"SLURM_JOB_ID": "3", "CUDA_VISIBLE_DEVICES": "GPU-a,MIG-b/1/2"}
    assert sorted(devices_of(job(1, **several)) + devices_of(job(1, **several))) == ["GPU-a", "MIG-b/1/2"]


def test_in_this_process(monkeypatch, caplog):
    with reserved(0) as devices:
        assert devices == []
        assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0, 1,2,3"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    with reserved(3) as devices:
        assert devices == ["5", "6"]
    assert "3 GPUs were asked for and 2 can be seen" in caplog.text
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "5,6"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with reserved(1) as devices:
        assert devices == []


def test_a_machine_without_scheduler_or_wish(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert visible_devices() == ["0", "1"]
    with reserved(2):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_folder_of_somebody_else_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr("os.getuid", lambda: 4711)
    (tmp_path / "captionlab-4711").mkdir()
    with pytest.raises(PermissionError, match=r"captionlab-4711 belongs to somebody else.*TMPDIR"), reserved(1):
        pass
