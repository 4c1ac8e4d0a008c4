"""A training that is killed, stopped or finds a damaged checkpoint ends with the same bytes as an undisturbed one."""

import logging
import multiprocessing
import os
import random
import signal
import time

import pytest
import torch
from safetensors.torch import save_file
from support.training_stand_in import END, Lengths, TinyCaptioner, data, decode, sample

from captionlab.jobs import provenance
from captionlab.storage.files import digest
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.checkpoints import Checkpoints, fingerprint, remove
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.reinforce.objective import Reinforce

EPOCHS, STEPS = 10, 40
SNAPSHOTS = {2: 8, 5: 20}  # epochs, and how many updates they are
OUTPUTS = ("2.safetensors", "5.safetensors", "model.safetensors", "training.parquet")


class Interruption(Exception):
    """Stands for whatever ends a process."""


class Interrupted(Reinforce):
    """REINFORCE that fails at the given update, or waits a little at each."""

    fails_at, pause = -1, 0.0

    def loss(self, model, batch):
        self.fails_at -= 1
        if self.fails_at == -1:
            raise Interruption
        time.sleep(self.pause)
        return super().loss(model, batch)


def finetune(folder, fails_in=-1, pause=0.0, seed=5, name="f", seconds=1e9, every=1):
    """Train with everything that has a state: sampling, dropout, Adam, a schedule, a baseline, snapshots."""
    folder.mkdir(exist_ok=True)
    model = TinyCaptioner(dropout=0.3)
    visual, _ = data()
    objective = Interrupted(sample, decode, END, Lengths(), RunningMean())
    objective.fails_at, objective.pause = fails_in, pause
    optimizer = {"kind": "adamw", "lr": 0.01, "schedule": "cosine", "warmup": 5, "clip_norm": 1.0}
    snapshots = train(
        model,
        objective,
        ImageBatches(visual, 5, seed),
        {**optimizer, "epochs": EPOCHS},
        seed=seed,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint=name,
        device="cpu",
        checkpoint_seconds=seconds,
        checkpoint_steps=every,
        snapshots=[*SNAPSHOTS],
    )
    for snapshot in snapshots:
        save_file(snapshot.weights(), folder / f"{snapshot.number}.safetensors")
    save_file(model.state_dict(), folder / "model.safetensors")
    remove(folder / "state")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    finetune(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(OUTPUTS)
    return {name: (folder / name).read_bytes() for name in OUTPUTS}


def assert_same(folder, undisturbed):
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == undisturbed


def interrupt(folder, after, **options):
    with pytest.raises(Interruption):
        finetune(folder, fails_in=after, **options)


@pytest.mark.parametrize("every", [1, 3, 7])
def test_interrupted_at_several_steps(tmp_path, undisturbed, every):
    for after in (1, 12, 9, 8):
        interrupt(tmp_path, after, every=every)
        # What other code draws between two attempts changes nothing.
        random.seed(1)
        torch.manual_seed(1)
    finetune(tmp_path, every=every)
    assert_same(tmp_path, undisturbed)


def test_checkpoints_by_time(tmp_path, undisturbed):
    interrupt(tmp_path, 4, seconds=0.0, every=None)
    assert sorted(path.name.split("-")[1] for path in (tmp_path / "state").glob("*.pt")) == ["000000003", "000000004"]
    interrupt(tmp_path, 4, seconds=1e9, every=None)
    assert sorted(path.name.split("-")[1] for path in (tmp_path / "state").glob("*.pt")) == ["000000003", "000000004"]
    finetune(tmp_path, seconds=0.0, every=None)
    assert_same(tmp_path, undisturbed)


def harm(path, damage):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes({"flip": bytes(content), "cut": content[:-10], "empty": b""}[damage])


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, undisturbed, damage, caplog):
    interrupt(tmp_path, 20, every=4)
    earlier, newest = sorted((tmp_path / "state").glob("*.pt"))
    harm(newest, damage)
    with caplog.at_level(logging.INFO):
        finetune(tmp_path, every=4)
    assert f"{newest} is damaged" in caplog.text
    assert "Going on from the checkpoint of step 16 of 40" in caplog.text
    assert earlier.name.split("-")[1] == "000000016"
    assert_same(tmp_path, undisturbed)


def test_another_fingerprint_never_resumes(tmp_path, undisturbed, caplog):
    interrupt(tmp_path, 20, name="another", seed=6)
    (tmp_path / "state" / "partial").write_bytes(b"half a checkpoint")
    interrupt(tmp_path, 0)
    assert list((tmp_path / "state").iterdir()) == []
    with caplog.at_level(logging.INFO):
        finetune(tmp_path)
    assert "Going on" not in caplog.text
    assert_same(tmp_path, undisturbed)


@pytest.fixture(scope="module")
def processes():
    # Children are forked from a server that has imported torch, which each would need seconds for.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch", "captionlab.training.loop.trainer", "captionlab.training.objectives.reinforce.objective"]
    )
    return context


def test_killed_at_twenty_random_moments(tmp_path, undisturbed, processes):
    """Each attempt is killed, while it computes or writes, until twenty were; what is left is finished in peace."""
    generator, kills = random.Random(0), 0
    while kills < 20:
        attempt = processes.Process(target=finetune, args=(tmp_path,), kwargs={"pause": 0.02})
        attempt.start()
        while not (tmp_path / "state").exists() and attempt.is_alive():
            time.sleep(0.001)
        time.sleep(generator.uniform(0.0, 0.3))
        attempt.kill()
        attempt.join()
        if attempt.exitcode == 0:
            assert_same(tmp_path, undisturbed)
            for name in OUTPUTS:
                (tmp_path / name).unlink()
        else:
            assert attempt.exitcode == -signal.SIGKILL
            kills += 1
    finetune(tmp_path)
    assert_same(tmp_path, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_to_stop_writes_a_checkpoint(tmp_path, undisturbed, processes, number):
    attempt = processes.Process(target=finetune, args=(tmp_path,), kwargs={"pause": 0.05, "every": 2})
    attempt.start()
    while not list(tmp_path.glob("state/*.pt")):
        time.sleep(0.01)
    os.kill(attempt.pid, number)
    attempt.join()
    assert attempt.exitcode == 128 + number
    assert not (tmp_path / "model.safetensors").exists()
    assert list(tmp_path.glob("state/*.pt"))
    finetune(tmp_path)
    assert_same(tmp_path, undisturbed)


def test_stopped_means_saved(tmp_path, caplog):
    """In this process: the signal comes during update 5, and the checkpoint is of update 5."""

    class Signalled(Interrupted):
        def loss(self, model, batch):
            self.fails_at -= 1
            if self.fails_at == -1:
                os.kill(os.getpid(), signal.SIGTERM)
            return Reinforce.loss(self, model, batch)

    visual, _ = data()
    objective = Signalled(sample, decode, END, Lengths(), RunningMean())
    objective.fails_at = 4
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as stopped:
        train(
            TinyCaptioner(),
            objective,
            ImageBatches(visual, 5, 0),
            {"kind": "adam", "lr": 0.01, "steps": STEPS},
            seed=0,
            log_path=tmp_path / "training.parquet",
            state_directory=tmp_path / "state",
            fingerprint="f",
            device="cpu",
        )
    assert stopped.value.code == 143
    assert "Stopped by SIGTERM after update 5 of 40" in caplog.text
    assert [path.name.split("-")[1] for path in (tmp_path / "state").iterdir()] == ["000000005"]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_full_disk_costs_the_checkpoint_only(tmp_path, undisturbed, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        interrupt(tmp_path, 5)
        assert list((tmp_path / "state").iterdir()) == []
    assert "could not be written" in caplog.text
    finetune(tmp_path)
    assert_same(tmp_path, undisturbed)


@pytest.mark.parametrize("number", SNAPSHOTS)
def test_a_snapshot_is_what_the_training_is_then(tmp_path, undisturbed, number):
    interrupt(tmp_path, SNAPSHOTS[number])
    *_, newest = sorted((tmp_path / "state").glob("*.pt"))
    then = torch.load(newest)
    assert then["step"] == SNAPSHOTS[number]
    save_file(then["model"], tmp_path / "then.safetensors")
    assert (tmp_path / "then.safetensors").read_bytes() == undisturbed[f"{number}.safetensors"]


def snapshots_in(folder):
    return [int(path.name.split("-")[1]) for path in sorted((folder / "state").glob("*.weights"))]


def test_a_snapshot_is_kept_or_taken_again(tmp_path, undisturbed):
    interrupt(tmp_path, 9, every=7)
    (taken,) = (tmp_path / "state").glob("*.weights")
    content = taken.read_bytes()
    interrupt(tmp_path, 3, every=7)  # from update 7 to 10
    assert snapshots_in(tmp_path) == [8]
    assert taken.read_bytes() == content
    interrupt(tmp_path, 15, every=4)  # from update 8 to 23
    assert snapshots_in(tmp_path) == [8, 20]
    finetune(tmp_path, every=4)
    assert_same(tmp_path, undisturbed)


@pytest.mark.parametrize(("update", "start"), [(20, "Going on from the checkpoint of step 16 of 40"), (8, None)])
def test_without_its_snapshots_a_checkpoint_is_none(tmp_path, undisturbed, caplog, update, start):
    interrupt(tmp_path, 20, every=4)
    (snapshot,) = (tmp_path / "state").glob(f"*-{update:09d}-*.weights")
    harm(snapshot, "flip")
    with caplog.at_level(logging.INFO):
        finetune(tmp_path, every=4)
    assert f"{snapshot} is damaged" in caplog.text
    assert ("Going on" in caplog.text) == bool(start)
    assert (start or "") in caplog.text
    assert_same(tmp_path, undisturbed)


def test_a_full_disk_ends_a_training_that_has_to_take_a_snapshot(tmp_path, undisturbed, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    interrupt(tmp_path, 6)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            finetune(tmp_path)
    assert snapshots_in(tmp_path) == []
    assert not (tmp_path / "state" / "partial").exists()
    finetune(tmp_path)
    assert_same(tmp_path, undisturbed)


def test_checkpoints_are_read_without_unpickling(tmp_path):
    """A file with the right name and digest that holds code is refused."""

    class Code:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "executed"),))

    checkpoints = Checkpoints(tmp_path / "state", "f")
    checkpoints.save(1, {"step": Code()})
    with pytest.raises(Exception, match=r"weights_only|Weights only"):
        checkpoints.newest()
    assert not (tmp_path / "executed").exists()


def test_fingerprint():
    config = {"optimizer": {"lr": 1}, "snapshots": [2]}
    params = {"code": "1", "versions": {"torch": "2.9", "numpy": "2"}, "config": config, "seed": 7}
    first = fingerprint(params, ["one"])
    assert fingerprint({**params, "versions": {"numpy": "2", "torch": "2.9"}}, ["one"]) == first
    assert fingerprint({**params, "config": {"snapshots": [2], "optimizer": {"lr": 1}}}, ["one"]) == first
    assert fingerprint({**params, "another": 1}, ["one"]) == first
    assert fingerprint({**params, "config": {"optimizer": {"lr": 1}}}, ["one"]) != first
    for changed in ({"code": "2"}, {"versions": {}}, {"config": {"optimizer": {"lr": 2}}}, {"seed": 8}):
        assert fingerprint({**params, **changed}, ["one"]) != first
    assert fingerprint(params, ["one", "one"]) != first
    assert fingerprint(params, ["two"]) != first


def test_a_training_reads_its_inputs_once_to_know_them(tmp_path, monkeypatch):
    """Once for provenance and fingerprint together: weights and features are large."""
    paths = [tmp_path / name for name in ("weights", "features")]
    for path in paths:
        path.write_text(path.name)
    read = []
    monkeypatch.setattr(provenance, "digest", lambda path: read.append(path) or digest(path))
    log = str(tmp_path / "results" / "logs" / "r.log")
    with provenance.working_on(provenance.Job("r", log, inputs=[*map(str, paths), str(paths[0])])):
        assert [*provenance.input_digests().values()] == [digest(path) for path in paths]
        assert len(provenance.current()["inputs"]) == 2
    assert read == [*map(str, paths)]
