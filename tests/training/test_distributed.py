"""Two processes train as one: the same losses, the same bytes where the batch is in the same parts, and both resume."""

import multiprocessing
import os
import signal
import socket
import time

import pytest
import torch
from safetensors.torch import save_file
from support.sampling_stand_in import train_by_grpo
from support.training_stand_in import END, VOCABULARY, TinyCaptioner, data, decode, sample

from captionlab.jobs.processes import gathered, is_first, largest, process_group, share
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table
from captionlab.training.loop.batches import CaptionBatches, ImageBatches
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy
from captionlab.training.objectives.reinforce.objective import Reinforce
from captionlab.training.rewards.retrieval import Discriminative

STEPS, IMAGES, CANDIDATES = 50, 40, 8


def greedy(model, visual):
    tokens = torch.zeros(len(visual), 0, dtype=torch.long)
    for _ in range(5):
        longer = torch.cat([tokens, torch.full((len(visual), 1), END)], 1)
        tokens = torch.cat([tokens, model.logits(visual, longer)[:, -1].argmax(1, keepdim=True)], 1)
    return tokens.masked_fill((tokens == END).cumsum(1) > 0, END)


def embed_texts(captions):
    """A retriever that adds up a vector for each word."""
    words = torch.randn(VOCABULARY, 16, generator=torch.Generator().manual_seed(1))
    counts = torch.zeros(len(captions), VOCABULARY)
    for row, caption in enumerate(captions):
        for word in caption.split():
            counts[row, int(word)] += 1
    return counts @ words + 0.1


class Finetuning(Reinforce):
    """Discriminative finetuning that raises an error, or stops its process, at one of its updates."""

    fails_at = stops_at = None
    updates = 0

    def loss(self, model, batch):
        self.updates += 1
        if self.updates == self.fails_at:
            raise InterruptedError
        if self.updates == self.stops_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().loss(model, batch)


def finetune(
    folder, generate=greedy, dropout=0.0, accumulate=1, size=2 * CANDIDATES, fails_at=None, stops_first_at=None
):
    """The captioner of the stand-in learns to be found among others; weights and log go to `folder`."""
    model = TinyCaptioner(dropout=dropout)
    images = torch.randn(IMAGES, 16, generator=torch.Generator().manual_seed(2))
    reward = Discriminative("discriminative", embed_texts, images, CANDIDATES, 5.0)
    objective = Finetuning(generate, decode, END, reward, RunningMean())
    objective.fails_at, objective.stops_at = fails_at, stops_first_at if is_first() else None
    train(
        model,
        objective,
        ImageBatches(data(IMAGES)[0], size, seed=3),
        {"kind": "adam", "lr": 0.003, "steps": STEPS, "clip_norm": 1.0, "accumulate": accumulate},
        seed=4,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint="f",
        device="cpu",
        checkpoint_steps=7,
    )
    if is_first():
        save_file(model.state_dict(), folder / "model.safetensors")


def pretrain(folder):
    model = TinyCaptioner(dropout=0.0)
    train(
        model,
        CrossEntropy(),
        CaptionBatches(*data(), size=7, seed=3, padding=END),
        {"kind": "adam", "lr": 0.003, "steps": 10},
        seed=4,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint="f",
        device="cpu",
    )


def folders(parent, *names):
    for name in names:
        (parent / name).mkdir()
    return [parent / name for name in names]


def log_of(folder):
    table = read_table(folder / "training.parquet", TRAINING).to_pandas()
    return table.pivot(index="step", columns="statistic", values="value")


def content(folder):
    return {name: (folder / name).read_bytes() for name in ("model.safetensors", "training.parquet")}


@pytest.fixture(scope="module")
def context():
    # Children are forked from a server that has imported torch, which each would need seconds for.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch", "captionlab.training.loop.trainer", "captionlab.training.objectives.reinforce.objective"]
    )
    return context


@pytest.fixture
def together(context):
    """Run a function in so many processes that train together; gives their exit codes."""

    def start(count, function, *arguments, **options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        workers = [
            context.Process(target=join, args=(rank, count, port, function, arguments, options))
            for rank in range(count)
        ]
        for worker in workers:
            worker.start()
        deadline = time.monotonic() + 120
        while any(worker.is_alive() for worker in workers) and time.monotonic() < deadline:
            # As torch's launcher does: when one fails, the others are ended.
            if any(worker.exitcode for worker in workers):
                time.sleep(1)
                for worker in workers:
                    worker.kill()
            time.sleep(0.02)
        return [worker.exitcode for worker in workers]

    return start


def join(rank, count, port, function, arguments, options):
    os.environ |= {"RANK": f"{rank}", "WORLD_SIZE": f"{count}", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": f"{port}"}
    torch.set_num_threads(1)
    with process_group():
        function(*arguments, **options)


@pytest.mark.parametrize(("count", "size"), [(2, 16), (3, 16)])
def test_the_losses_of_one_process(together, tmp_path, count, size):
    """In-batch distractors, baseline, clipping: 50 updates; the parts of three processes are not of equal size."""
    alone, apart = folders(tmp_path, "alone", "apart")
    finetune(alone, size=size)
    assert together(count, finetune, apart, size=size) == [0] * count
    one, several = log_of(alone), log_of(apart)
    assert len(one) == len(several) == STEPS
    assert one.loss.nunique() == STEPS
    for name in ("loss", "reward", "accuracy", "baseline", "log_prob", "gradient_norm"):
        assert abs(one[name] - several[name]).max() < 1e-6, name


def test_references_differ_in_length(together, tmp_path):
    """A part counts by its tokens, whichever process has it."""
    alone, apart = folders(tmp_path, "alone", "apart")
    pretrain(alone)
    assert together(2, pretrain, apart) == [0, 0]
    assert abs(log_of(alone).loss - log_of(apart).loss).max() < 1e-6


def test_the_bytes_of_one_process(together, tmp_path):
    """One process computes the batch in two parts: two processes draw the same dropout and sample the same captions."""
    alone, apart = folders(tmp_path, "alone", "apart")
    finetune(alone, sample, dropout=0.3, accumulate=2)
    assert together(2, finetune, apart, sample, dropout=0.3) == [0, 0]
    assert content(alone) == content(apart)


def test_both_resume(together, tmp_path):
    whole, parts = folders(tmp_path, "whole", "parts")
    assert together(2, finetune, whole, sample, dropout=0.3) == [0, 0]
    # Both fail; then the first is asked to stop, and both do.
    assert together(2, finetune, parts, sample, dropout=0.3, fails_at=17) == [1, 1]
    assert [path.name.split("-")[1] for path in sorted((parts / "state").iterdir())] == ["000000007", "000000014"]
    assert together(2, finetune, parts, sample, dropout=0.3, stops_first_at=6) == [143, 143]
    assert [path.name.split("-")[1] for path in sorted((parts / "state").iterdir())] == ["000000014", "000000020"]
    assert not (parts / "training.parquet").exists()
    assert together(2, finetune, parts, sample, dropout=0.3) == [0, 0]
    assert content(parts) == content(whole)


def test_samples_of_several_updates(together, tmp_path):
    """Parts are of five and four images; the checkpoint within a set has the samples of both processes."""
    alone, apart, resumed = folders(tmp_path, "alone", "apart", "resumed")
    train_by_grpo(alone, accumulate=2)
    assert together(2, train_by_grpo, apart) == [0, 0]
    assert content(alone) == content(apart)
    assert together(2, train_by_grpo, resumed, fails_at=6) == [1, 1]
    assert [path.name.split("-")[1] for path in sorted((resumed / "state").iterdir())] == ["000000004", "000000005"]
    assert together(2, train_by_grpo, resumed) == [0, 0]
    assert content(resumed) == content(apart)


def check_helpers():
    rank = int(os.environ["RANK"])
    assert share(range(5)) == [range(0, 1), range(1, 3), range(3, 5)][rank]
    mine = torch.arange(share(range(5)).start, share(range(5)).stop)
    assert gathered(mine).tolist() == [0, 1, 2, 3, 4]
    assert gathered(torch.ones(rank, 2)).shape == (3, 2)
    assert largest(15 if rank == 1 else 0, "cpu") == 15


def test_helpers(together):
    assert together(3, check_helpers) == [0, 0, 0]
    assert share([1, 2]) == [1, 2]
    assert largest(3, "cpu") == 3
    assert is_first()
