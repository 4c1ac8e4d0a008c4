"""Training of captioners of the hub by TRL: losses, rewards, what changes, checkpoints and results."""

import io
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from support.decodings import decoding_of
from support.hub_models import hub_model

from captionlab.captioners.adapters import merge_adapters, new_adapters
from captionlab.captioners.decoded import Decoded
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.storage.schemas import CAPTIONS, IMAGES, TRAINING, TRAINING_CAPTIONS
from captionlab.storage.tables import read_table, write_table
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.checkpoints import Training
from captionlab.training.loop.data import TrainingData
from captionlab.training.objectives.cross_entropy.objective import build
from captionlab.training.objectives.dpo import objective as dpo_objective
from captionlab.training.objectives.grpo import objective as grpo_objective
from captionlab.training.objectives.grpo.objective import Grpo
from captionlab.training.parent import frozen_parent
from captionlab.training.trl import training as trl_training
from captionlab.training.trl.callbacks import Following
from captionlab.training.trl.launching import launch, launch_command, srun_command
from captionlab.training.trl.training import Job, run

pytest.importorskip("trl")
KINDS = ("smolvlm", "qwen2_5_vl")
TRAIN, SAMPLES = 6, 2
SAMPLE = {"kind": "sample", "max_tokens": 5}
REWARD = {"kind": "cider"}
OBJECTIVES = {
    "cross-entropy": {"kind": "cross-entropy", "captions_per_image": 1},
    "dpo": {"kind": "dpo", "reward": {"kind": "length"}, "decoding": SAMPLE, "beta": 0.5},
    "grpo": {
        "kind": "grpo", "reward": REWARD, "decoding": SAMPLE, "samples": SAMPLES, "updates": 1, "clip": 0.2, "kl": 0.1,
    },
    "rloo": {
        "kind": "self-critical", "reward": REWARD, "decoding": SAMPLE, "samples": SAMPLES, "kl": 0.1,
        "baseline": "leave-one-out", "temperature": 1.0, "scale": 1.0, "log_prob": "sum", "dropout": False,
    },
}  # fmt: skip
LORA = {"rank": 2, "alpha": 4, "targets": "all-linear", "dropout": 0.0, "merge": False}


def png(number):
    values = np.random.default_rng(number).integers(0, 255, (40 + 4 * number, 60, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "png")
    return file.getvalue()


@pytest.fixture(scope="module")
def parents(tmp_path_factory):
    """A folder with a captioner of each kind, and a corpus of a few images."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("parents")
    for kind in KINDS:
        block = {"dtype": "float32", "prompt": "", "reads": "pixels", "chat": "describe it"}
        import_folder("transformers", hub_model(kind, folder / "hub"), folder / kind, block)
    ids = [f"image-{number}" for number in range(TRAIN + 2)]
    nothing = [None] * len(ids)
    rows = {
        "image_id": ids, "position": range(len(ids)), "split": ["train"] * TRAIN + ["test"] * 2, "path": nothing,
        "offset": nothing, "length": nothing, "data": [png(number) for number in range(len(ids))],
        "width": [60] * len(ids), "height": [40] * len(ids), "image_set": nothing,
    }  # fmt: skip
    write_table(folder / "images.parquet", IMAGES, rows)
    texts = ["a red ball" if number % 2 else "the blue dog" for number in range(len(ids))]
    rows = {"image_id": ids, "caption_index": [0] * len(ids), "caption": texts}
    write_table(folder / "captions.parquet", CAPTIONS, rows)
    return folder


def job_of(parents, kind, objective, lora=LORA, name="trained", steps=3, updates=1, **optimizer):
    config = {
        "objective": {**OBJECTIVES[objective], **({"updates": updates} if objective == "grpo" else {})},
        "optimizer": {"kind": "adam", "lr": 1e-2, "batch": 2, "steps": steps, **optimizer},
    } | ({"lora": lora} if lora else {})
    training = Training(
        rule="finetune_with_trl",
        params={"config": config, "seed": 3},
        images=str(parents / "images.parquet"),
        weights=str(parents / name / "model.safetensors"),
        log=str(parents / name / "training.parquet"),
    )
    data = {
        "images": training.images, "features": [training.images], "captions": str(parents / "captions.parquet"),
        "reward_models": {},
    }  # fmt: skip
    examples, snapshots = (str(parents / name / file) for file in ("training_captions.parquet", "snapshots"))
    return Job(str(parents / kind), training, f"{kind} {objective} {name}", data, examples, snapshots)


def log_of(job):
    found = {}
    for row in read_table(job.training.log, TRAINING).to_pylist():
        found.setdefault(row["statistic"], {})[row["step"]] = row["value"]
    return found


@pytest.fixture(autouse=True)
def length(monkeypatch):
    """A reward that two captions seldom share."""

    def reward(batch, captions):
        return torch.tensor([len(caption) + 0.01 * sum(map(ord, caption)) for caption in captions]), {}

    monkeypatch.setattr(dpo_objective, "build_reward", lambda config, data: reward)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Checkpoints are written below the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_adapters_alone_are_trained(parents, kind, objective):
    job = job_of(parents, kind, objective, name=f"{kind}-{objective}")
    run(job)
    log = log_of(job)
    assert sorted(log["loss"]) == [1, 2, 3]
    assert all(np.isfinite(list(values.values())).all() for values in log.values())
    assert {"loss", "gradient_norm", "learning_rate"} <= log.keys()
    assert ("reward" in log) == ("kl" in log) == (objective in ("grpo", "rloo"))
    place = Path(job.training.weights).parent
    adapters = load_file(job.training.weights)
    assert all("lora_" in name for name in adapters)
    assert any(value.any() for name, value in adapters.items() if "lora_B" in name), "they start at 0"
    assert json.loads((place / "config.json").read_text())["parent"]["captioner"] == kind
    captioner, _ = load_captioner(place)
    parent, _ = load_captioner(job.parent)
    merge_adapters(captioner)
    changed = {
        name for name, value in captioner.state_dict().items() if not torch.equal(value, parent.state_dict()[name])
    }
    assert changed == {f"{layer}.weight" for layer in parent.linear_layers()}
    assert read_table(job.training_captions, TRAINING_CAPTIONS).num_rows == 0
    assert not list(Path("results/state").rglob("checkpoint-*"))


@pytest.mark.parametrize("objective", ["cross-entropy", "dpo", "grpo"])
def test_a_whole_captioner_is_trained(parents, objective):
    """The divergence of GRPO is from the parent, which TRL reads again."""
    job = job_of(parents, "smolvlm", objective, lora=None, name=f"whole-{objective}")
    run(job)
    captioner, _ = load_captioner(Path(job.training.weights).parent)
    parent, _ = load_captioner(job.parent)
    trained = {name for name, parameter in parent.named_parameters() if parameter.requires_grad}
    changed = {
        name for name, value in captioner.named_parameters() if not torch.equal(value, parent.get_parameter(name))
    }
    assert changed
    assert changed <= trained
    if objective == "grpo":
        assert log_of(job)["kl"][1] == pytest.approx(0, abs=1e-6)
        assert log_of(job)["kl"][3] > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_of_references_is_that_of_the_own_trainer(parents, kind):
    job = job_of(parents, kind, "cross-entropy", name=f"loss-{kind}", batch=TRAIN, steps=1, accumulate=2)
    run(job)
    captioner, tokenizer = load_captioner(job.parent)
    data = TrainingData(**job.data, device="cpu", batch=TRAIN, seed=1, captioner=captioner, tokenizer=tokenizer)
    objective, batches = build(OBJECTIVES["cross-entropy"], data)
    with torch.no_grad():
        loss, _ = objective.loss(captioner, batches[0])
    assert log_of(job)["loss"][1] == pytest.approx(loss.item(), abs=1e-4)  # logged with four digits


def test_the_loss_of_grpo_is_that_of_the_own_trainer(parents, monkeypatch):
    """Two updates by the captions that TRL drew: the second has ratios other than 1, and a divergence."""
    drawn, earned = [], torch.tensor([0.0, 1.0, 3.0, 1.5, 0.2, 0.7, 0.0, 5.0])
    job = job_of(parents, "smolvlm", "grpo", name="loss-grpo", steps=2, batch=4, updates=2)
    reward_function = trl_training.reward_function

    def watched(*given):
        rewarded = reward_function(*given)
        return lambda completion_ids, **others: (
            drawn.append((completion_ids, others["image_id"])) or rewarded(completion_ids=completion_ids, **others)
        )

    monkeypatch.setattr(trl_training, "reward_function", watched)
    monkeypatch.setattr(trl_training, "build_reward", lambda config, data: lambda batch, captions: (earned, {}))
    run(job)
    [(tokens, ids)] = drawn
    captioner, tokenizer = load_captioner(job.parent)
    new_adapters(captioner, LORA, job.parent, seed=3)
    data = TrainingData(**job.data, device="cpu", batch=4, seed=3, captioner=captioner, tokenizer=tokenizer)
    lengths = torch.tensor([len(caption) for caption in tokens])
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(caption) for caption in tokens], batch_first=True)
    decoded = Decoded(padded, lengths, torch.zeros(len(tokens)), torch.zeros(len(tokens)))
    monkeypatch.setattr(grpo_objective, "decode", lambda *given, **options: decoded)
    objective = Grpo(
        tokenizer, decoding_of("sample", 5), lambda batch, captions: (earned, {}), SAMPLES, clip=0.2, kl=0.1,
        parent=frozen_parent(captioner),
    )  # fmt: skip
    rows = torch.tensor([data.ids.index(image) for image in ids[::SAMPLES]])
    optimizer, losses, norms = torch.optim.Adam([p for p in captioner.parameters() if p.requires_grad], lr=1e-2), [], []
    for _ in range(2):
        loss, _ = objective.loss(captioner, ImageBatch(data.visual[rows], rows))
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.get_total_norm([p.grad for p in captioner.parameters() if p.requires_grad]).item())
        objective.end_batch()
        optimizer.step()
        losses.append(loss.item())
    assert abs(losses[1]) > 1e-2
    assert [*log_of(job)["loss"].values()] == pytest.approx(losses, abs=1e-4)
    assert [*log_of(job)["gradient_norm"].values()] == pytest.approx(norms, rel=1e-3)


def test_the_loss_of_dpo_is_that_of_the_own_trainer(parents):
    """Two updates by all pairs, the same in both engines."""
    job = job_of(parents, "smolvlm", "dpo", name="loss-dpo", steps=2, batch=TRAIN)
    run(job)
    captioner, tokenizer = load_captioner(job.parent)
    new_adapters(captioner, LORA, job.parent, seed=3)
    data = TrainingData(**job.data, device="cpu", batch=TRAIN, seed=3, captioner=captioner, tokenizer=tokenizer)
    objective, batches = dpo_objective.build(OBJECTIVES["dpo"], data)
    optimizer, losses = torch.optim.Adam([p for p in captioner.parameters() if p.requires_grad], lr=1e-2), []
    for _ in range(2):
        loss, _ = objective.loss(captioner, batches[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(np.log(2))
    assert losses[1] < 0.6
    assert [*log_of(job)["loss"].values()] == pytest.approx(losses, abs=1e-3)


@pytest.mark.parametrize("objective", ["grpo", "rloo"])
def test_a_reward_gets_the_captions_of_its_images(parents, objective, monkeypatch):
    """As the captioner decodes them; batches are cut into parts, and captions of an image stand together."""
    asked = []

    def reward(batch, captions):
        asked.append(([batch.images[rank].item() for rank in batch.rows], list(captions), batch.images.tolist()))
        return torch.arange(len(captions)).float(), {"twice": torch.full((len(captions),), 2.0)}

    monkeypatch.setattr(trl_training, "build_reward", lambda config, data: reward)
    job = job_of(parents, "smolvlm", objective, name=f"rewards-{objective}", batch=4, steps=2, accumulate=2)
    run(job)
    assert len(asked) == 2
    for rows, captions, images in asked:
        assert rows == [row for row in images for _ in range(SAMPLES)]
        assert len(captions) == len(rows) == 4 * SAMPLES
        assert len({*images}) == 4
        assert not any("<" in caption for caption in captions), "captions are decoded without special tokens"
    assert log_of(job)["reward"] == {1: 3.5, 2: 3.5}
    assert log_of(job)["twice"] == {1: 2.0, 2: 2.0}


@pytest.mark.parametrize("objective", ["cross-entropy", "dpo", "grpo"])
def test_a_training_that_is_stopped_ends_the_same(parents, objective):
    """After a stop signal there is a checkpoint, from which the training goes on."""
    whole, parts = (job_of(parents, "smolvlm", objective, name=f"{objective}-{name}", steps=4) for name in "ab")
    run(whole)
    with pytest.raises(SystemExit) as stopped:
        run_and_stop(parts, after=2)
    assert stopped.value.code == 128 + signal.SIGTERM
    assert [path.name for path in Path("results/state").rglob("checkpoint-*")] == ["checkpoint-2"]
    run(parts)
    assert log_of(parts) == log_of(whole)
    for name, value in load_file(whole.training.weights).items():
        torch.testing.assert_close(load_file(parts.training.weights)[name], value, atol=0, rtol=0)


def test_a_training_that_is_killed_ends_the_same(parents):
    """It goes on from its newest checkpoint that was written whole; checkpoints of other trainings are deleted."""
    whole, parts = (job_of(parents, "smolvlm", "grpo", name=f"killed-{name}", steps=4) for name in "ab")
    run(whole)
    parts = replace(parts, training=replace(parts.training, checkpoints={"steps": 1}))
    other = Path(parts.training.state) / "another" / "checkpoint-9"
    other.mkdir(parents=True)
    original = Following.on_step_end

    def on_step_end(self, args, state, control, **others):
        if state.global_step == 3:
            raise InterruptedError
        return original(self, args, state, control, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Following, "on_step_end", on_step_end)
        with pytest.raises(InterruptedError):
            run(parts)
    (parts.folder / "checkpoint-3").mkdir()
    assert not other.exists()
    assert sorted(path.name for path in parts.folder.glob("*-*")) == ["checkpoint-1", "checkpoint-2", "checkpoint-3"]
    run(parts)
    assert log_of(parts) == log_of(whole)
    for name, value in load_file(whole.training.weights).items():
        torch.testing.assert_close(load_file(parts.training.weights)[name], value, atol=0, rtol=0)


def run_and_stop(job, after):
    """Run a job, to which SIGTERM is sent in an update."""
    original = Following.on_step_end

    def on_step_end(self, args, state, control, **others):
        if state.global_step == after:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, args, state, control, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Following, "on_step_end", on_step_end)
        run(job)


def test_the_command_for_one_machine():
    command = launch_command("job.json", "fsdp.yaml", 1, "node-1", {})
    assert command[1:] == [
        "-m", "accelerate.commands.launch", "--config_file", "fsdp.yaml", "-m", "captionlab.training.trl", "job.json",
    ]  # fmt: skip


def test_the_command_for_two_nodes_of_a_slurm_job():
    command = launch_command(
        "state/job of.json", "fsdp.yaml", 2, "node-1", {"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "41234"}
    )
    assert command[:-1] == [
        "srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--overlap", "--kill-on-bad-exit=1", "bash", "-c",
    ]  # fmt: skip
    assert command[-1] == (
        f"exec {sys.executable} -m accelerate.commands.launch --config_file fsdp.yaml --main_process_ip node-1 "
        "--main_process_port 21234 --machine_rank $SLURM_NODEID -m captionlab.training.trl 'state/job of.json'"
    )
    for job in ({}, {"SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_ID": "41234"}):
        with pytest.raises(ValueError, match=r"fsdp\.yaml is for 2 machines, and this job has 1"):
            launch_command("job.json", "fsdp.yaml", 2, "node-1", job)


def test_the_command_for_two_nodes_where_snakemake_hides_their_number():
    hidden = launch_command("job.json", "fsdp.yaml", 2, "node-1", {"SLURM_JOB_ID": "41234"})
    assert hidden == srun_command("job.json", "fsdp.yaml", 2, "node-1", 41234)


TWO = """
compute_environment: LOCAL_MACHINE
distributed_type: {kind}
fsdp_config: {{fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP}}
num_machines: 1
num_processes: 2
mixed_precision: "no"
use_cpu: true
"""


def launched(job, kind, folder):
    """The output of a job in two processes, which are launched as the rule does it."""
    settings, file = folder / "two.yaml", folder / "job.json"
    settings.write_text(TWO.format(kind=kind))
    job.write(file)
    with open(folder / "log.txt", "w+") as log:
        try:
            launch(file, str(settings), os.environ, log)
        finally:
            log.seek(0)
            output = log.read()
            print(output)
    return output


@pytest.mark.slow
def test_two_processes_have_the_loss_of_one(parents, folder):
    options = {"lora": None, "steps": 2, "batch": 4}
    alone, both = (job_of(parents, "smolvlm", "cross-entropy", name=f"by-{n}", **options) for n in (1, 2))
    run(alone)
    assert "Processes that train: 2, as MULTI_CPU" in launched(both, "MULTI_GPU", folder)
    for statistic in ("loss", "gradient_norm"):
        assert log_of(both)[statistic] == pytest.approx(log_of(alone)[statistic], rel=1e-3)
    weights = load_file(alone.training.weights)
    for weight, value in load_file(both.training.weights).items():
        torch.testing.assert_close(value, weights[weight], atol=1e-3, rtol=1e-3)


@pytest.mark.slow
def test_captions_are_rewarded_in_two_processes(parents, folder):
    """Captions of an image stay together, and a training on a CPU that asks for FSDP ends with a sentence."""
    job = job_of(parents, "smolvlm", "grpo", name="grpo-in-two", steps=2, batch=4)
    launched(job, "MULTI_GPU", folder)
    assert sorted(log_of(job)["reward"]) == [1, 2]
    assert np.isfinite(list(log_of(job)["loss"].values())).all()
    with pytest.raises(SystemExit):
        launched(job_of(parents, "smolvlm", "grpo", name="fsdp", steps=2, batch=4), "FSDP", folder)
    assert "it divides no model among processes on a CPU" in (folder / "log.txt").read_text()
